"""The layer check finds what is planted, and nothing in the product."""
import os
import sys
import tempfile

ROOT = os.environ.get("LEAT_SOURCE_DIR") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "cmake"))
sys.dont_write_bytecode = True
import layer_check  # noqa: E402

GOOD = {
    "runtime/leat.h": "",
    "runtime/leat_status.h": "",
    "runtime/base/memory.h": '#include "leat_status.h"\n#include <stddef.h>\n',
    "runtime/base/memory.c": '#include "base/memory.h"\nvoid *a(void) { return malloc(1); }\n',
    "runtime/base/clock.h": "",
    "runtime/plan/spec.h": '#include "base/memory.h"\n/* never a float, time( or rand() */\nchar *s = "double";\n',
    "runtime/job/job.h": '#include "plan/spec.h"\n',
    "runtime/feed/feed.h": '#include "io/store/store.h"\n#include "collectives/wire.h"\n',
    "runtime/loader/open.c": '#include "leat.h"\n#include "feed/feed.h"\n',
    "runtime/cli/main.c": '#include <mpi.h>\n#include "leat.h"\nchar *e(void) { return getenv("A"); }\n',
    "io/store/store.h": '#include "base/memory.h"\n',
    "io/store/sum.c": "#include <openssl/evp.h>\nvoid f(x *a) { leat_free(a); a->free(a); }\n",
    "collectives/wire.h": '#include "base/memory.h"\n',
    "collectives/leat_mpi.h": '#include "wire.h"\n#include <mpi.h>\n',
    "collectives/nccl.c": "#include <nccl.h>\n#include <cuda_runtime.h>\n",
}

# (files that replace or add to GOOD, what the check must say)
PLANTED = [
    ({"runtime/base/up.c": '#include "plan/spec.h"\n'}, "runtime/base/up.c:1: base is below plan"),
    ({"runtime/digest/up.c": '\n#include "leat.h"\n'}, "runtime/digest/up.c:2: digest is below leat.h"),
    ({"runtime/plan/up.c": '#include "../feed/feed.h"\n'}, "plan is below feed"),
    ({"io/up.c": '#include "collectives/wire.h"\n'}, "io and collectives do not know each other"),
    ({"collectives/up.c": '#include "io/store/store.h"\n'}, "collectives and io do not know each other"),
    ({"runtime/plan/circle.c": '#include "job/job.h"\n'}, "job and plan include each other"),
    ({"runtime/loader/open.c": "#include <mpi.h>\n"}, "MPI is not for this folder"),
    ({"runtime/feed/a.c": "# include <cuda_runtime.h>\n"}, "NCCL or CUDA is not for this folder"),
    ({"io/index/sum.c": "#include <openssl/sha.h>\n"}, "openssl is included in 2 files"),
    ({"io/a.c": "#include <hdf5.h>\n", "io/b.c": "#include <H5public.h>\n"}, "hdf5 is included in 2 files"),
    ({"io/a.c": "#include <curl/curl.h>\n"}, "<curl/curl.h> is neither standard nor a known library"),
    ({"io/a.c": '#include "zstd.h"\n'}, '#include "zstd.h" is no file of ours'),
    ({"runtime/plan/a.c": "int f(void)\n{\n    return (int)(double)1;\n}\n"}, "runtime/plan/a.c:3: double"),
    ({"runtime/plan/a.c": "float x;\n"}, "float: the plan is a pure function of integers"),
    ({"runtime/plan/a.c": "#include <time.h>\n"}, "time.h has no place in the plan"),
    ({"runtime/plan/a.c": '#include "base/clock.h"\n'}, "base/clock.h has no place in the plan"),
    ({"runtime/plan/a.c": "int f(void) { return rand (); }\n"}, "rand: the plan is a pure function of integers"),
    ({"io/a.c": "/* malloc( */\nvoid *f(void) { return malloc(1); }\n"}, "io/a.c:2: malloc: memory comes from"),
    ({"runtime/feed/a.c": "void f(void *a) { free(a); }\n"}, "runtime/feed/a.c:1: free: memory comes from"),
    ({"collectives/a.c": "char *f(void) { return strdup(\"a\"); }\n"}, "strdup: memory comes from"),
    ({"collectives/a.c": "char *f(void) { return getenv(\"A\"); }\n"}, "getenv: only the command"),
    ({"tests/a.c": "int a;\n" * 1001}, "tests/a.c:1001: 1001 lines; at most 1000"),
]


def check(files):
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(text)
        return layer_check.Check(root).run()


def main():
    failures = 0
    found = check(GOOD)
    if found:
        failures += 1
        print("a good tree is refused:", *found, sep="\n  ")
    for files, wanted in PLANTED:
        found = check({**GOOD, **files})
        if not any(wanted in line for line in found):
            failures += 1
            print(f"planted {sorted(files)}: wanted {wanted!r}, found {found}")
    found = layer_check.Check(ROOT).run()
    if found:
        failures += 1
        print("the product:", *found, sep="\n  ")
    print(f"{len(PLANTED) + 2} checks, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
