#!/usr/bin/env python3
"""Checks by text what the compiler does not: which folder may use what.  Prints file:line: what, and exits 1 where something is wrong.

usage: layer_check.py [ROOT]
"""
import os
import re
import sys

# A folder may include folders of a lower level; on one level whatever makes no circle.
LEVELS = {
    "base": 0,
    "job": 1, "plan": 1, "tokenize": 1, "digest": 1, "io": 1, "collectives": 1,
    "feed": 2,
    "loader": 3,
    "audit": 4,
    "cli": 5, "examples": 5,
}
APART = {("io", "collectives"), ("collectives", "io")}
PUBLIC = {"leat_status.h": 0, "leat.h": 2}  # headers of runtime/ itself; batches are made in feed

# External libraries: each is included in exactly one file of ours.
LIBRARIES = {
    "openssl": r"openssl/.*", "hdf5": r"hdf5(_hl)?\.h|H5.*\.h", "yaml": r"yaml\.h",
    "simdjson": r"simdjson.*", "xxhash": r"xxh.*\.h", "zstd": r"zstd.*\.h", "zlib": r"zlib\.h",
    "pcre2": r"pcre2.*\.h", "utf8proc": r"utf8proc\.h",
}
# Libraries with places of their own.
PLACES = {
    "MPI": (r"mpi\.h", r"collectives/mpi/.*|collectives/leat_mpi\.h|runtime/cli/main\.c"),
    "NCCL or CUDA": (r"nccl.*\.h|cuda.*\.h|cu(blas|rand|fft|solver|sparse|file)[^/]*\.h", r"collectives/.*"),
}
STANDARD = re.compile(
    r"(sys|net|netinet|arpa|linux)/[a-z0-9_]+\.h|"
    r"(assert|complex|ctype|dirent|dlfcn|endian|errno|fcntl|float|fnmatch|getopt|glob|ifaddrs|immintrin|inttypes|limits|"
    r"locale|math|netdb|poll|pthread|sched|semaphore|signal|spawn|stdalign|stdarg|stdatomic|stdbool|stddef|stdint|"
    r"stdio|stdlib|stdnoreturn|string|strings|termios|threads|time|unistd|wchar|wctype)\.h|[a-z_]+")

# The plan is a pure function of integers.
PLAN_HEADERS = re.compile(r"(time|math|float|fenv|locale|complex|dirent)\.h|sys/(time|random)\.h|base/clock\.h")
PLAN_WORDS = re.compile(
    r"\b(float|double|_Complex|__DATE__|__TIME__)\b|"
    r"\b(time|clock|clock_gettime|gettimeofday|rand|rand_r|random|srand|srandom|drand48|getrandom|setlocale|strcoll|getenv|"
    r"readdir|strtod|atof)\s*\(")
ALLOCATION = re.compile(
    r"(?<![.\w])(?<!->)(malloc|calloc|realloc|reallocarray|free|aligned_alloc|posix_memalign|memalign|strdup|strndup|"
    r"asprintf|vasprintf)\s*\(")
ALLOCATOR = "runtime/base/memory.c"
ENVIRONMENT = re.compile(r"\b(secure_)?getenv\s*\(")

LINES_MOST = 1000
CODE = (".c", ".h", ".cc", ".cmake", ".py", ".sh", ".txt")
LINED_FOLDERS = ("runtime", "io", "collectives", "examples", "tests", "cmake")
PRODUCT = ("runtime", "io", "collectives")


def stripped(text):
    """The text without comments and the insides of literals; line breaks stay."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)

    def blank(match):
        kept = "\n" * match.group().count("\n")
        return '""' + kept if match.group()[0] in "\"'" else " " + kept

    return pattern.sub(blank, text)


def module_of(path):
    """The folder that a path counts as, or None."""
    parts = path.split("/")
    if parts[0] == "runtime":
        return parts[1] if len(parts) > 2 else None
    return parts[0] if parts[0] in LEVELS else None


def files_of(root, folders, endings):
    for folder in folders:
        for here, below, names in os.walk(os.path.join(root, folder)):
            below[:] = sorted(name for name in below if name not in ("build", "__pycache__", "work"))
            for name in sorted(names):
                if name.endswith(endings):
                    yield os.path.relpath(os.path.join(here, name), root)


class Check:
    def __init__(self, root):
        self.root = root
        self.found = []
        self.library_users = {}
        self.edges = {}

    def say(self, path, line, what):
        self.found.append(f"{path}:{line}: {what}")

    def resolve(self, path, name):
        """The path below the root that #include "name" means in `path`, or None."""
        for candidate in (os.path.join(os.path.dirname(path), name), os.path.join("runtime", name), name):
            candidate = os.path.normpath(candidate)
            if os.path.isfile(os.path.join(self.root, candidate)):
                return candidate
        return None

    def own_include(self, path, line, name):
        target = self.resolve(path, name)
        if target is None:
            self.say(path, line, f'#include "{name}" is no file of ours; libraries are included with <>')
            return
        user, used = module_of(path), module_of(target)
        public = os.path.basename(target) if os.path.dirname(target) == "runtime" else None
        if user is None:
            return
        if public is not None:
            if PUBLIC.get(public, 0) > LEVELS[user]:
                self.say(path, line, f"{user} is below {public}")
        elif used is None or used not in LEVELS:
            self.say(path, line, f"{target} belongs to no folder that code may use")
        elif (user, used) in APART:
            self.say(path, line, f"{user} and {used} do not know each other")
        elif LEVELS[used] > LEVELS[user]:
            self.say(path, line, f"{user} is below {used} and may not include {name}")
        elif user != used:
            self.edges.setdefault((user, used), (path, line))

    def library_include(self, path, line, name):
        for library, (headers, places) in PLACES.items():
            if re.fullmatch(headers, name):
                if not re.fullmatch(places, path):
                    self.say(path, line, f"{library} is not for this folder: <{name}>")
                return
        for library, headers in LIBRARIES.items():
            if re.fullmatch(headers, name):
                self.library_users.setdefault(library, {}).setdefault(path, line)
                return
        if not STANDARD.fullmatch(name):
            self.say(path, line, f"<{name}> is neither standard nor a known library; see cmake/layer_check.py")

    def includes(self, path, text):
        for number, line in enumerate(text.split("\n"), 1):
            match = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
            if match is None:
                continue
            if match.group(1) == '"':
                self.own_include(path, number, match.group(2))
            else:
                self.library_include(path, number, match.group(2))
            if path.startswith("runtime/plan/") and PLAN_HEADERS.fullmatch(match.group(2)):
                self.say(path, number, f"{match.group(2)} has no place in the plan")

    def words(self, path, text, pattern, what):
        for number, line in enumerate(stripped(text).split("\n"), 1):
            for match in pattern.finditer(line):
                self.say(path, number, f"{match.group().rstrip('( ')}: {what}")

    def product_file(self, path):
        with open(os.path.join(self.root, path), encoding="utf-8") as file:
            text = file.read()
        self.includes(path, text)
        if path.startswith("runtime/plan/"):
            self.words(path, text, PLAN_WORDS, "the plan is a pure function of integers")
        if path != ALLOCATOR and not path.endswith(".cc"):
            self.words(path, text, ALLOCATION, "memory comes from base/memory.h")
        if not path.startswith("runtime/cli/"):
            self.words(path, text, ENVIRONMENT, "only the command looks at the environment")

    def circles(self):
        for (user, used), (path, line) in sorted(self.edges.items()):
            if user < used and (used, user) in self.edges:
                other, other_line = self.edges[(used, user)]
                self.say(path, line, f"{user} and {used} include each other (there: {other}:{other_line})")

    def run(self):
        for path in files_of(self.root, PRODUCT, (".c", ".h", ".cc")):
            self.product_file(path)
        for library, users in sorted(self.library_users.items()):
            if len(users) > 1:
                for path, line in sorted(users.items()):
                    self.say(path, line, f"{library} is included in {len(users)} files; one of ours may")
        self.circles()
        for path in files_of(self.root, LINED_FOLDERS, CODE):
            with open(os.path.join(self.root, path), encoding="utf-8", errors="replace") as file:
                lines = sum(1 for _ in file)
            if lines > LINES_MOST:
                self.say(path, lines, f"{lines} lines; at most {LINES_MOST}")
        return self.found


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    found = Check(root).run()
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
