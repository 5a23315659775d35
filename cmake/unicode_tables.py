#!/usr/bin/env python3
"""Writes runtime/tokenize/unicode_tables.c.

    python3 cmake/unicode_tables.py hf_unicode_classes.json[.xz] hf_nfc_ccc_differences.json > runtime/tokenize/unicode_tables.c

The first argument holds the general categories as the reference (Hugging Face tokenizers 0.22.2) sees them, which is
Unicode 16; the second the marks that its normalizers take for starters. The reference mixes several Unicode versions;
what is not in these files was found by asking it about every code point, and stands below. Needs Python 3.11 (Unicode 14).
"""
import json
import lzma
import sys
import unicodedata

CATEGORIES = ["Cn", "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "P", "S", "Z", "Cc", "Cf", "Co"]
SPACE_CONTROL = len(CATEGORIES)  # Cc that is white space: 09-0D 85
COUNT = 0x110000
# Its normalizers are of Unicode 9: what Unicode 10 to 14 decompose, they do not.
NOT_DECOMPOSED = "32FF A7F2-A7F4 AB69 10781-10785 10787-107B0 107B2-107BA 11938 1F16C 1FBF0-1FBF9"
# Its pre-tokenizer Punctuation is of Unicode 8 (and knows a few code points that have left the category since).
PUNCTUATION_MORE = "166D 111C9"
PUNCTUATION_LESS = ("61D 9FD A76 C77 C84 1B4E-1B4F 1B7D-1B7F 2E43-2E4F 2E52-2E5D 10D6E 10EAD 10F55-10F59 10F86-10F89 "
                    "113D4-113D5 113D7-113D8 1144B-1144F 1145A-1145B 1145D 11660-1166C 116B9 1183B 11944-11946 119E2 "
                    "11A3F-11A46 11A9A-11A9C 11A9E-11AA2 11B00-11B09 11BE1 11C41-11C45 11C70-11C71 11EF7-11EF8 "
                    "11F43-11F4F 11FFF 12FF1-12FF2 16D6D-16D6F 16E97-16E9A 16FE2 1E5FF 1E95E-1E95F")
# Its pre-tokenizer Digits and its normalizer Lowercase are of Unicode 17.
NUMERIC_MORE = "11DE0-11DE9 16FF4-16FF6"
LOWER_MORE = {0x1C89: 0x1C8A, 0xA7CB: 0x264, 0xA7CC: 0xA7CD, 0xA7CE: 0xA7CF, 0xA7D2: 0xA7D3, 0xA7D4: 0xA7D5,
              0xA7DA: 0xA7DB, 0xA7DC: 0x19B, **{c: c + 0x20 for c in range(0x10D50, 0x10D66)},
              **{c: c + 0x1B for c in range(0x16EA0, 0x16EB9)}}
# \w: Alphabetic, M, Nd, Pc and Join_Control; of the first, symbols that are letters in circles and squares.
WORD_MORE = "5F 200C-200D 203F-2040 2054 24B6-24E9 FE33-FE34 FE4D-FE4F FF3F 1F130-1F149 1F150-1F169 1F170-1F189"
FLAG_PUNCTUATION, FLAG_NUMERIC, FLAG_WORD = 0x20, 0x40, 0x80
NORM_DECOMPOSES, NORM_COMPAT, NORM_SECOND = 1, 2, 4


def code_points(text):
    for part in text.split():
        first, _, last = part.partition("-")
        yield from range(int(first, 16), int(last or first, 16) + 1)


def load(path):
    with (lzma.open if path.endswith(".xz") else open)(path, "rb") as file:
        return json.load(file)


def members(ranges):
    return [c for first, last in ranges for c in range(first, last + 1)]


def classes(given):
    table = [0] * COUNT
    for number, name in enumerate(CATEGORIES):
        for c in members(given[name]):
            table[c] = number
    control = CATEGORIES.index("Cc")
    for c in members(given["s"]):
        if table[c] == control:
            table[c] = SPACE_CONTROL
        assert table[c] in (SPACE_CONTROL, CATEGORIES.index("Z"))
    words = [CATEGORIES.index(n) for n in ("Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl")]
    punctuation = set(members(given["P"])) | {c for c in members(given["S"]) if c < 128}
    punctuation |= set(code_points(PUNCTUATION_MORE))
    punctuation -= set(code_points(PUNCTUATION_LESS))
    numeric = set(members(given["N"])) | set(code_points(NUMERIC_MORE))
    word = set(code_points(WORD_MORE)) | {c for c in range(COUNT) if table[c] in words}
    for chosen, flag in ((punctuation, FLAG_PUNCTUATION), (numeric, FLAG_NUMERIC), (word, FLAG_WORD)):
        for c in chosen:
            table[c] |= flag
    return table


def blocks(table):
    """Two stages: the number of the block of 256 of each code point's upper part, and the blocks."""
    numbers, distinct, stage = {}, [], []
    for start in range(0, COUNT, 256):
        block = tuple(table[start:start + 256])
        if block not in numbers:
            numbers[block] = len(distinct)
            distinct.append(block)
        stage.append(numbers[block])
    assert len(distinct) <= 256
    return stage, distinct


def decompositions():
    """{code point: full decomposition}, canonical and compatible."""
    skipped = set(code_points(NOT_DECOMPOSED))
    found = ({}, {})
    for c in range(COUNT):
        if 0xAC00 <= c <= 0xD7A3 or 0xD800 <= c < 0xE000 or c in skipped:
            continue
        for form, table in zip(("NFD", "NFKD"), found):
            whole = unicodedata.normalize(form, chr(c))
            if whole != chr(c):
                table[c] = [ord(x) for x in whole]
    return found


def compositions():
    pairs = {}
    for c in range(COUNT):
        parts = unicodedata.decomposition(chr(c)).split()
        if len(parts) == 2 and parts[0][0] != "<" and c not in set(code_points("11938")):
            first, second = (int(p, 16) for p in parts)
            if unicodedata.normalize("NFC", chr(c)) == chr(c):
                pairs[first, second] = c
    return pairs


def emit(kind, name, values, per_line=256):
    print(f"const {kind} {name}[{len(values)}] = {{")
    for start in range(0, len(values), per_line):
        print(",".join(str(v) for v in values[start:start + per_line]) + ",")
    print("};")


def emit_mappings(name, mapping, pool):
    """Sorted code points, and for each where its text begins in the pool and how long it is."""
    keys = sorted(mapping)
    emit("uint32_t", f"leat_{name}_from", keys)
    places = []
    for c in keys:
        places.append(len(pool) << 5 | len(mapping[c]))
        assert len(mapping[c]) < 32
        pool.extend(mapping[c])
    emit("uint32_t", f"leat_{name}_to", places)
    print(f"const size_t leat_{name}_count = {len(keys)};")


def main():
    assert unicodedata.unidata_version == "14.0.0", unicodedata.unidata_version
    given = load(sys.argv[1])
    starters = {entry["cp"] for entry in load(sys.argv[2])}
    stage, distinct = blocks(classes(given))
    canonical, compatible = decompositions()
    pairs = compositions()
    combining = [0 if c in starters else unicodedata.combining(chr(c)) for c in range(COUNT)]
    norm, kinds = [0] * COUNT, {(0, 0): 0}
    seconds = {second for _, second in pairs} | set(range(0x1161, 0x1176)) | set(range(0x11A8, 0x11C3))
    for c in range(COUNT):
        flags = NORM_DECOMPOSES if c in canonical else 0
        flags |= NORM_COMPAT if c in compatible else 0
        flags |= NORM_SECOND if c in seconds or (c in canonical and unicodedata.normalize("NFC", chr(c)) != chr(c)) else 0
        norm[c] = kinds.setdefault((combining[c], flags), len(kinds))
    norm_stage, norm_distinct = blocks(norm)
    print("/* Made by cmake/unicode_tables.py; do not edit. */")
    print('#include "tokenize/unicode.h"')
    print("/* clang-format off */")
    emit("uint8_t", "leat_unicode_block", stage)
    emit("uint8_t", "leat_unicode_class", [v for b in distinct for v in b])
    emit("uint8_t", "leat_norm_block", norm_stage)
    emit("uint8_t", "leat_norm_kind", [v for b in norm_distinct for v in b])
    emit("uint8_t", "leat_norm_ccc", [ccc for ccc, _ in kinds])
    emit("uint8_t", "leat_norm_flags", [flags for _, flags in kinds])
    pool = []
    emit_mappings("canonical", canonical, pool)
    emit_mappings("compatible", {c: t for c, t in compatible.items() if canonical.get(c) != t}, pool)
    lower = {c: [ord(x) for x in chr(c).lower()] for c in range(COUNT) if chr(c).lower() != chr(c)}
    lower.update({c: [to] for c, to in LOWER_MORE.items()})
    emit_mappings("lower", lower, pool)
    emit("uint32_t", "leat_mapping_pool", pool)
    keys = sorted(pairs)
    emit("uint64_t", "leat_compose_from", [first << 32 | second for first, second in keys])
    emit("uint32_t", "leat_compose_to", [pairs[k] for k in keys])
    print(f"const size_t leat_compose_count = {len(keys)};")


main()
