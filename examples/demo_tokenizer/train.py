#!/usr/bin/env python3
"""Trains a small byte-level BPE tokenizer and writes it as a tokenizer.json.

    python3 examples/demo_tokenizer/train.py OUT.json FILE.jsonl… [--vocabulary 8192] [--key text] [--bytes 4000000]

The texts are the values of "text" in the lines of the files; at most --bytes bytes of them are used, an equal share of each
file from its front. The result is the same for the same files, whatever their order on the command line: pairs are merged
by count, and among equal counts by their bytes. Standard library alone.
"""
import argparse
import collections
import heapq
import json
import re
import sys

END = "<|endoftext|>"
# GPT-2's pattern. Python's re has no \p{L} and \p{N}: letters are word characters that are no number and no underscore.
# It need not agree with the loader on every code point; it only decides what is counted.
WORDS = re.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?[^\W\d_]+| ?\d+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+")


def alphabet():
    """The character that stands for each byte."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    table = {byte: chr(byte) for byte in plain}
    for byte in range(256):
        if byte not in table:
            table[byte] = chr(0x100 + len(table) - len(plain))
    return table


def texts(paths, key, bytes_max):
    """Texts of the files; an equal share of bytes_max from the front of each."""
    share = bytes_max // max(1, len(paths))
    for path in sorted(paths):
        used = 0
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if used >= share:
                    break
                if not line.strip():
                    continue
                record = json.loads(line)
                if not isinstance(record, dict) or not isinstance(record.get(key), str):
                    sys.exit(f"{path}:{number}: no text under the key \"{key}\"")
                text = record[key][:share - used]
                used += len(text.encode())
                yield text


def count_words(paths, key, bytes_max):
    counts = collections.Counter()
    for text in texts(paths, key, bytes_max):
        counts.update(WORDS.findall(text))
    return [(tuple(word.encode()), count) for word, count in sorted(counts.items()) if len(word.encode()) < 64]


class Trainer:
    """Keeps for each pair how often it occurs and in which words, so that a merge looks at few words."""

    def __init__(self, words):
        self.tokens = [bytes([byte]) for byte in range(256)]
        self.ids = {token: number for number, token in enumerate(self.tokens)}
        self.words = [list(symbols) for symbols, _ in words]
        self.counts = [count for _, count in words]
        self.pairs = collections.Counter()
        self.places = collections.defaultdict(set)
        for index, symbols in enumerate(self.words):
            for pair in zip(symbols, symbols[1:]):
                self.pairs[pair] += self.counts[index]
                self.places[pair].add(index)
        self.heap = [self.entry(pair) for pair in self.pairs]
        heapq.heapify(self.heap)

    def entry(self, pair):
        return -self.pairs[pair], self.tokens[pair[0]], self.tokens[pair[1]], pair

    def best(self):
        while self.heap:
            entry = heapq.heappop(self.heap)
            pair = entry[3]
            if self.pairs[pair] < 2:
                continue
            if -entry[0] == self.pairs[pair]:
                return pair
            heapq.heappush(self.heap, self.entry(pair))
        return None

    def merge(self, pair):
        whole = self.tokens[pair[0]] + self.tokens[pair[1]]
        new = self.ids.setdefault(whole, len(self.tokens))  # two pairs can make one token
        if new == len(self.tokens):
            self.tokens.append(whole)
        changed = set()
        for index in self.places.pop(pair):
            old, count = self.words[index], self.counts[index]
            symbols, at = [], 0
            while at < len(old):
                if at + 1 < len(old) and old[at] == pair[0] and old[at + 1] == pair[1]:
                    symbols.append(new)
                    at += 2
                else:
                    symbols.append(old[at])
                    at += 1
            if len(symbols) == len(old):
                continue
            for gone in zip(old, old[1:]):
                self.pairs[gone] -= count
            for come in zip(symbols, symbols[1:]):
                self.pairs[come] += count
                if new in come:
                    self.places[come].add(index)
                    changed.add(come)
            self.words[index] = symbols
        self.pairs[pair] = 0
        for come in changed:
            heapq.heappush(self.heap, self.entry(come))


def train(words, vocabulary):
    trainer = Trainer(words)
    merges = []
    while len(trainer.tokens) + 1 < vocabulary:
        pair = trainer.best()
        if pair is None:
            break
        left, right = (trainer.tokens[symbol] for symbol in pair)
        trainer.merge(pair)
        merges.append((left, right))
    return merges


def document(merges):
    table = alphabet()

    def written(token):
        return "".join(table[byte] for byte in token)

    vocab = {written(bytes([byte])): byte for byte in range(256)}
    for left, right in merges:
        vocab.setdefault(written(left + right), len(vocab))
    end = {"id": len(vocab), "content": END, "single_word": False, "lstrip": False, "rstrip": False,
           "normalized": False, "special": True}
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    model = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
             "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
             "vocab": vocab, "merges": [[written(left), written(right)] for left, right in merges]}
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [end], "normalizer": None,
            "pre_tokenizer": byte_level, "post_processor": None, "decoder": byte_level, "model": model}


def main():
    parser = argparse.ArgumentParser(description="Trains a byte-level BPE tokenizer.json.")
    parser.add_argument("out")
    parser.add_argument("files", nargs="+")
    parser.add_argument("--vocabulary", type=int, default=8192)
    parser.add_argument("--key", default="text")
    parser.add_argument("--bytes", type=int, default=4000000)
    arguments = parser.parse_args()
    words = count_words(arguments.files, arguments.key, arguments.bytes)
    whole = document(train(words, arguments.vocabulary))
    with open(arguments.out, "w", encoding="utf-8") as file:
        json.dump(whole, file, ensure_ascii=False, indent=1)
        file.write("\n")
    print(f"{arguments.out}: {len(whole['model']['vocab']) + 1} tokens, {len(whole['model']['merges'])} merges, "
          f"from {len(words)} different words")


if __name__ == "__main__":
    main()
