#!/usr/bin/env python3
"""Gathers a corpus from what every machine has: documentation and code.

    python3 gather.py OUT [--megabytes 8] [--shards 4]

writes OUT/text/*.jsonl (documentation, licences, manual pages) and OUT/code/*.jsonl (Python's library, C headers), one
JSON object a line with the keys "text" and "path".  The same files give the same corpus: they are chosen by a hash of their path
and written in the order of their path; only whole UTF-8 files are taken, and equal files once.  Standard library alone.
"""
import argparse
import gzip
import hashlib
import json
import os
import sys

FILE_BYTES_MAX = 200_000
SOURCES = {
    "text": (["/usr/share/common-licenses", "/usr/share/doc", "/usr/share/man", "/usr/share/perl"],
             ("", ".txt", ".md", ".rst", ".gz", ".pod", ".html")),
    "code": (["/usr/lib/python3", "/usr/lib/python3.11", "/usr/lib/python3.12", "/usr/lib/python3.13", "/usr/include"],
             (".py", ".h", ".hpp")),
}


def files(folders, endings):
    """Paths of plain files, without links, in bytewise order."""
    found = []
    for folder in folders:
        for parent, _, names in os.walk(folder):
            for name in names:
                path = os.path.join(parent, name)
                if os.path.splitext(name)[1] in endings and os.path.isfile(path) and not os.path.islink(path):
                    found.append(path)
    return sorted(set(found), key=os.fsencode)


def read(path):
    """The file's text, or None where it is no text of the wanted size."""
    try:
        with open(path, "rb") as file:
            data = file.read(FILE_BYTES_MAX + 1)
        if data[:2] == b"\x1f\x8b":
            with gzip.open(path) as file:
                data = file.read(FILE_BYTES_MAX + 1)
        if not 64 <= len(data) <= FILE_BYTES_MAX or b"\0" in data:
            return None
        os.fsencode(path).decode()
        return data.decode()
    except (OSError, EOFError, UnicodeDecodeError, ValueError):
        return None


def choose(folders, endings, bytes_max):
    """(path, text) of as many files as fit, from all over the folders."""
    chosen, seen, used = [], set(), 0
    for path in sorted(files(folders, endings), key=lambda p: hashlib.sha256(os.fsencode(p)).digest()):
        if used >= bytes_max:
            break
        text = read(path)
        if text is None:
            continue
        digest = hashlib.sha256(text.encode()).digest()
        if digest not in seen:
            seen.add(digest)
            chosen.append((path, text))
            used += len(text.encode())
    return sorted(chosen), used


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--megabytes", type=int, default=8, help="of each dataset, at most about this")
    parser.add_argument("--shards", type=int, default=4)
    arguments = parser.parse_args()
    for name, (folders, endings) in SOURCES.items():
        documents, used = choose(folders, endings, arguments.megabytes * 1_000_000)
        if len(documents) < arguments.shards:
            sys.exit(f"found only {len(documents)} files for the dataset {name} in {' '.join(folders)}")
        os.makedirs(os.path.join(arguments.out, name), exist_ok=True)
        for shard in range(arguments.shards):
            begin = shard * len(documents) // arguments.shards
            end = (shard + 1) * len(documents) // arguments.shards
            with open(os.path.join(arguments.out, name, f"{name}-{shard:02}.jsonl"), "w", encoding="utf-8") as file:
                for path, text in documents[begin:end]:
                    file.write(json.dumps({"text": text, "path": path}, ensure_ascii=False) + "\n")
        print(f"{name}: {len(documents)} documents, {used / 1e6:.1f} MB in {arguments.shards} shards")


if __name__ == "__main__":
    main()
