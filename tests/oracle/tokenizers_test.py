#!/usr/bin/env python3
"""Ids of `leat tokenize` against those of the Python package `tokenizers` (Hugging Face, 0.22.2), over tokenizers of many
kinds and texts made to be awkward. Skips (77) where the package, the command or ../shared is missing.

    tokenizers_test.py [SEED] [TEXTS] [NAME]      (environment: LEAT_SOURCE_DIR, LEAT_BINARY_DIR; LEAT_TOKENIZE: another command)
"""
import copy
import itertools
import json
import lzma
import os
import random
import subprocess
import sys
import tempfile

SOURCE = os.environ.get("LEAT_SOURCE_DIR", os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
BINARY = os.environ.get("LEAT_BINARY_DIR", os.path.join(SOURCE, "build/x"))
COMMAND = os.environ.get("LEAT_TOKENIZE", os.path.join(BINARY, "leat") + " tokenize").split()
SHARED = os.path.join(SOURCE, "..", "shared")


def skip(why):
    print("SKIPPED:", why)
    sys.exit(77)


try:
    import tokenizers
    from tokenizers import Tokenizer
except ImportError:
    skip("the Python package tokenizers is not installed (pip install tokenizers==0.22.2)")
if tokenizers.__version__ != "0.22.2":
    skip(f"tokenizers {tokenizers.__version__} is installed, 0.22.2 is wanted: the Unicode versions differ")
if not os.path.exists(COMMAND[0]):
    skip(f"{COMMAND[0]} is not built")

SPLIT_DEEPSEEK = (r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
                  r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+").replace(r'\"', '"')
WORD = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
SUFFIX = "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
SPLIT_O200K = (WORD + r"*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+" + SUFFIX + "|" + WORD + r"+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*" + SUFFIX +
               r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
SPLIT_CL100K = (r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*"
                r"|\s*[\r\n]|\s+(?!\S)|\s+")
SPLIT_BLOOM = " ?[^(\\s|[.,!?…。，、।۔،])]+"


def split(pattern, behavior="Isolated", invert=False):
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior, "invert": invert}


def byte_level(use_regex=True, prefix=False):
    return {"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": True, "use_regex": use_regex}


def sequence(*parts):
    return {"type": "Sequence", "pretokenizers": list(parts)}


def added(content, number, **flags):
    token = {"id": number, "content": content, "single_word": False, "lstrip": False, "rstrip": False,
             "normalized": False, "special": False}
    token.update(flags)
    return token


def all_pairs(base):
    """Every two bytes are a token, in random order of rank: a cut at another place gives other ids nearly always, which a
    real vocabulary does not."""
    letters = sorted(base["model"]["vocab"], key=base["model"]["vocab"].get)[:256]
    pairs = [[a, b] for a in letters for b in letters]
    random.Random(7).shuffle(pairs)
    vocab = {token: number for number, token in enumerate(letters + [a + b for a, b in pairs])}
    return dict(base, model=dict(base["model"], vocab=vocab, merges=pairs), added_tokens=[])


def byte_variants(base):
    """Tokenizers of GPT-2's vocabulary that differ in one part."""
    pairs = all_pairs(base)
    digits = {"type": "Digits", "individual_digits": True}
    front, back = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|", \
        r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    pre = {
        "gpt2": byte_level(),
        "llama3": sequence(split(front + r"\p{N}{1,3}" + back), byte_level(False)),
        "qwen": sequence(split(front + r"\p{N}" + back), byte_level(False)),
        "numbers": sequence(split(r"\p{N}+"), byte_level(False)),
        "number": sequence(split(r"\p{N}"), byte_level(False)),
        "o200k": sequence(split(SPLIT_O200K), byte_level(False)),
        "o200k-removed": sequence(split(SPLIT_O200K, "Removed", True), byte_level(False)),
        "tekken": sequence(split(SPLIT_O200K.replace(SUFFIX, "").replace("{1,3}", "")), byte_level(False)),
        "cl100k": sequence(split(SPLIT_CL100K), byte_level(False)),
        "deepseek": sequence(split(r"\p{N}{1,3}"), split("[一-龥぀-ゟ゠-ヿ]+"), split(SPLIT_DEEPSEEK), byte_level(False)),
        "starcoder": sequence(digits, byte_level()),
        "falcon": sequence({"type": "Punctuation", "behavior": "Contiguous"}, byte_level(),
                           {"type": "Digits", "individual_digits": False}, split("[0-9][0-9][0-9]")),
        "falcon-digits": sequence(byte_level(), digits),
        "punctuation": sequence({"type": "Punctuation"}, byte_level()),
        "bloom": sequence(split(SPLIT_BLOOM), byte_level(False)),
        "prefix": byte_level(True, True),
        "prefix-behind": sequence({"type": "Digits", "individual_digits": False}, byte_level(True, True)),
        "prefix-whole": byte_level(False, True),
        "whole": byte_level(False),
    }
    for name, part in pre.items():
        yield "pre " + name, dict(base, pre_tokenizer=part)
        yield "pairs " + name, dict(pairs, pre_tokenizer=part)
    normal = {
        "nfc": {"type": "NFC"}, "nfd": {"type": "NFD"}, "nfkc": {"type": "NFKC"}, "nfkd": {"type": "NFKD"},
        "lowercase": {"type": "Lowercase"}, "strip": {"type": "Strip", "strip_left": True, "strip_right": True},
        "left": {"type": "Strip", "strip_left": True, "strip_right": False},
        "replace": {"type": "Replace", "pattern": {"String": "a"}, "content": "bb"},
        "many": {"type": "Sequence", "normalizers": [{"type": "NFKD"}, {"type": "Lowercase"}, {"type": "NFC"},
                                                     {"type": "Prepend", "prepend": "_"},
                                                     {"type": "Replace", "pattern": {"String": "  "}, "content": " "}]},
    }
    tokens = base["added_tokens"] + [
        added("É", 0, normalized=True), added("ab", 0, normalized=True, single_word=True),
        added("a", 0, rstrip=True, normalized=True), added("<x>", 0, lstrip=True, rstrip=True), added("<y>", 0, rstrip=True),
        added("ﬁ", 0, normalized=True), added("naïve", 0, special=True, normalized=True), added("<x> ", 0)]
    for name, part in normal.items():
        yield "normal " + name, dict(base, normalizer=part, added_tokens=tokens)
        yield "normal only " + name, dict(base, normalizer=part)
    template = {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<|endoftext|>", "type_id": 0}},
                {"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "two", "type_id": 0}}],
                "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
                "special_tokens": {"<|endoftext|>": {"id": "<|endoftext|>", "ids": [50256], "tokens": ["<|endoftext|>"]},
                                   "two": {"id": "two", "ids": [1, 2], "tokens": ["\"", "#"]}}}
    yield "template", dict(base, post_processor=template)
    yield "templates", dict(base, post_processor={"type": "Sequence", "processors": [byte_level(), template]})
    yield "roberta", dict(base, post_processor={"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 0],
                                                "trim_offsets": True, "add_prefix_space": False})
    holes = copy.deepcopy(base)
    for byte in ("Ġ", "b", "Ã"):
        number = holes["model"]["vocab"].pop(byte)
        holes["model"]["vocab"]["(gone)" + byte] = number
    holes["model"]["merges"] = [m for m in holes["model"]["merges"]
                                if not {"Ġ", "b", "Ã"} & set(m if isinstance(m, list) else m.split(" "))]
    yield "bytes missing", holes
    unk = copy.deepcopy(holes)
    unk["model"]["unk_token"] = "!"
    yield "bytes missing, unk", unk
    unk = copy.deepcopy(unk)
    unk["model"]["fuse_unk"] = True
    yield "bytes missing, fused unk", unk
    whole = copy.deepcopy(base)
    whole["model"]["ignore_merges"] = True
    yield "ignore merges", dict(whole, pre_tokenizer=byte_level(False))
    doubled = copy.deepcopy(base)
    doubled["model"]["merges"] += doubled["model"]["merges"][:200]
    yield "merges twice", doubled


def sentence_pieces(texts):
    """Tokenizers with ▁ for spaces, trained here by the reference."""
    from tokenizers import models, normalizers, pre_tokenizers, trainers
    bytes_tokens = [f"<0x{byte:02X}>" for byte in range(256)]
    for name, extra, letters in (("llama", bytes_tokens, 300), ("plain", [], 60), ("some bytes", bytes_tokens[:200], 60)):
        made = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=bool(extra)))
        made.normalizer = normalizers.Replace(" ", "▁")
        made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")
        made.train_from_iterator(texts, trainers.BpeTrainer(
            vocab_size=1500, special_tokens=["<unk>", "<s>", "</s>"] + extra, limit_alphabet=letters, show_progress=False))
        whole = json.loads(made.to_str())
        whole["added_tokens"] = whole["added_tokens"][:3]
        llama = {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"},
                                                     {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]}
        yield name, dict(whole, normalizer=llama, pre_tokenizer=None)
        yield name + " gemma", dict(whole, pre_tokenizer=None)
        for scheme in ("first", "always", "never"):
            for cut in (True, False):
                space = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": cut}
                yield f"{name} metaspace {scheme} {cut}", dict(whole, normalizer=None, pre_tokenizer=space)
        loose = copy.deepcopy(whole)
        loose["model"]["fuse_unk"] = False
        yield name + " loose unk", dict(loose, normalizer=llama, pre_tokenizer=None)
        over = copy.deepcopy(whole)
        vocab = over["model"]["vocab"]
        for left, right in (("e", "▁"), ("e▁", "t"), ("\n", "a") if "\n" in vocab else ("t", "▁")):
            vocab.setdefault(left + right, len(vocab))
            over["model"]["merges"].insert(0 if left == "e" else 1, [left, right])
        yield name + " merges over spaces", dict(over, normalizer=llama, pre_tokenizer=None)


POOLS = [
    "中ʰAaBªǅ\u0301é's Z", "eEoO\u0305\u0301\u0316\u0323\u0344\u0302", "«»€£abB1 ",
    "abcdefgh ", "aAbBcC '’sStTlLmMdDvVrReEſ", " \t\n\r\v\f\x85\xa0\u2003\u3000\u200b\u1680a.", "0123456789٣²½Ⅷ౦a ,.",
    "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~aZ 1\n", "中文字日本語かなカナ。、一龥龦ab1 ", "éèêëāăąÀÉ\u0301\u0300\u0327\u0323e a",
    "aе\u0301я\u0308נ\u05b4\u05bcع\u064b\u0651क\u093cि1 ", "한국어각\u1100\u1161\u11a8가 a", "Ǆǅǆʰªºﬁﬀ①㎏Å℃ﷺ㋿ A",
    "😀👍🏽\u200d👩🇩🇪a ", "\x00\x01\x1c\x1f\x7f\xad\u2028\u2029\ufeffa \n", "ߓ߽ࢗऽᪿ\u1abf\u0323\u0301a", "▁a ▁▁b\n<s></s><unk>", "𞤀𑅰𐽑᭎﹖،؟!a1 ",
]
WORDS = ["hello", "World", "it's", "IT'S", "don't", "they're", "we'LL", "  ", "\n\n", "\t", " ", "<|endoftext|>", "123", "3.14159",
         "1234567", "naïve", "Straße", "foo_bar", "fooBar", "HTTPServer", "x=1;", "//", "/*", "...", "$$", "Привет", "мир", "你好",
         "こんにちは", "العربية", "हिन्दी", "<x>", "<y>", "<y> <x>", "<y>\n  <x> ", "ab", "É", "ﬁ", "a", "<s>", "</s>", "<unk>", "<0x41>", "\r\n", "—", "²"]


def texts_of(seed, count):
    random.seed(seed)
    made = ["", " ", "a", "\n"]
    for _ in range(count):
        kind = random.random()
        if kind < 0.5:
            pool = random.choice(POOLS)
            made.append("".join(random.choice(pool) for _ in range(random.randint(1, 40))))
        elif kind < 0.8:
            made.append("".join(random.choice(WORDS) + random.choice(["", " ", ""]) for _ in range(random.randint(1, 12))))
        elif kind < 0.9:
            made.append("".join(chr(c) for c in (random.randrange(0x20, 0x30000) for _ in range(20)) if not 0xD800 <= c < 0xE000))
        else:
            made.append(random.choice("a 1.中é\n") * random.randint(1, 300) + random.choice(WORDS))
    return made


def run(whole, texts, special):
    with tempfile.TemporaryDirectory() as folder:
        file, lines = os.path.join(folder, "t.json"), os.path.join(folder, "x.jsonl")
        with open(file, "w", encoding="utf-8") as out:
            json.dump(whole, out, ensure_ascii=False)
        with open(lines, "w", encoding="utf-8") as out:
            for text in texts:
                out.write(json.dumps({"text": text}) + "\n")
        done = subprocess.run(COMMAND + [file, lines] + (["--special"] if special else []), capture_output=True, check=False)
        if done.returncode != 0:
            return done.stderr.decode()
        return [json.loads(line) for line in done.stdout.splitlines()]


def compare(name, whole, texts):
    reference = Tokenizer.from_str(json.dumps(whole))
    # The reference numbers added tokens by itself, and the loader wants the numbers right.
    tokens = [dict(token, id=reference.token_to_id(token["content"])) for token in whole["added_tokens"]]
    whole = dict(whole, added_tokens=tokens)
    failures = 0
    for special in (False, True):
        want = [e.ids for e in reference.encode_batch(texts, add_special_tokens=special)]
        got = run(whole, texts, special)
        if isinstance(got, str) or len(got) != len(want):
            print(f"{name}: {got if isinstance(got, str) else len(got)}")
            return 1
        wrong = [(t, g, w) for t, g, w in zip(texts, got, want) if g != w]
        for text, g, w in wrong[:3]:
            print(f"{name}{' special' if special else ''}: {text!r}\n  got  {g}\n  want {w}\n"
                  f"  want {[reference.id_to_token(i) for i in w]}")
        failures += len(wrong)
    if failures:
        print(f"{name}: {failures} of {2 * len(texts)} differ")
    return failures


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 250
    path = os.path.join(SHARED, "tokenizers", "gpt2.tokenizer.json.xz")
    if not os.path.exists(path):
        skip(f"{path} is missing")
    with lzma.open(path, "rt", encoding="utf-8") as file:
        base = json.load(file)
    texts = texts_of(seed, count)
    only = sys.argv[3] if len(sys.argv) > 3 else ""  # a part of the names of those wanted
    failures, kinds = 0, 0
    for name, whole in itertools.chain(byte_variants(base), sentence_pieces(texts)):
        if only not in name:
            continue
        failures += compare(name, whole, texts)
        kinds += 1
    print(f"seed {seed}: {kinds} tokenizers, {len(texts)} texts each, {failures} differences")
    sys.exit(1 if failures else 0)


main()
