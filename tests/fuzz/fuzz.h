/* fuzz.h: what a fuzz target is: one function that takes any bytes and must not crash, hang, leak or read what is not its own.
 * Built with libFuzzer (-DLEAT_FUZZ=ON, clang) or with replay.c, which runs the seeds and mutations of them in the tests. */
#ifndef LEAT_TESTS_FUZZ_H
#define LEAT_TESTS_FUZZ_H
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The bytes as a file that parsers with paths can open: DIR/NAME; the folder is made once a process and removed at its end. */
const char *fuzz_file(const char *name, const uint8_t *data, size_t size);
const char *fuzz_folder(void);
#endif
