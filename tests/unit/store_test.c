/* The posix store and its globs. */
#include "base/memory.h"
#include "check.h"
#include "io/store/store.h"
#include <sys/stat.h>
#include <unistd.h>

static leat_error error;
static char root[] = "/tmp/leat-store-XXXXXX";

static char *below(const char *name)
{
    static char path[4][600];
    static int turn;
    turn = (turn + 1) % 4;
    snprintf(path[turn], sizeof path[turn], "%s/%s", root, name);
    return path[turn];
}

static void make_file(const char *name)
{
    char *path = below(name), *slash = strrchr(path, '/');
    *slash = '\0';
    CHECK_OK(leat_store_make_folder(path, &error), &error);
    *slash = '/';
    leat_store *store = leat_store_posix();
    leat_bytes content = {(const uint8_t *)name, strlen(name)};
    CHECK_OK(store->write_whole(store, path, content, &error), &error);
}

static void test_globs(void)
{
    static const char *const files[] = {
        "a/1.x",     "a/10.x",   "a/2.x",   "a/B.x",        "a/b.y",    "a/.hid.x", "a/b/3.x",
        "a/b/c/4.x", "a/b-/5.x", "a/[z].x", "a/\xc3\xa9.x", "a/.h/6.x", "top"};
    static const struct {
        const char *pattern, *want; /* names with blanks between them; "" none */
    } cases[] = {
        {"a/*.x", "1.x 10.x 2.x B.x [z].x \xc3\xa9.x"},
        {"a/?.x", "1.x 2.x B.x \xc3\xa9.x"},
        {"a/[0-9]*.x", "1.x 10.x 2.x"},
        {"a/[!0-9]*.x", "B.x [z].x \xc3\xa9.x"},
        {"a/[]z[]*", "[z].x"},
        {"a/[[]z].x", "[z].x"},
        {"a/[z].x", ""},
        {"a/**/*.x", "1.x 10.x 2.x B.x [z].x b-/5.x b/3.x b/c/4.x \xc3\xa9.x"},
        {"a/**", "1.x 10.x 2.x B.x [z].x b-/5.x b.y b/3.x b/c/4.x \xc3\xa9.x"},
        {"a/**/**/4.x", "b/c/4.x"},
        {"**/4.x", "a/b/c/4.x"},
        {"a/*/*.x", "b-/5.x b/3.x"},
        {"a/b*/3.x", "b/3.x"},
        {"a/.*.x", ".hid.x"},
        {"*", "top"},
        {"a/1.x", "1.x"},
        {"top", "top"},
        {"a//b/3.x", "3.x"},
        {"a/*0*.x", "10.x"},
        {"a/*1*0*.*x", "10.x"},
        {"a", ""},
        {"nope/*", ""},
        {"a/1.x/*", ""},
        {"a/", ""},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        make_file(files[i]);
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        leat_path_list list = {0};
        leat_buffer got = {0};
        leat_status status = leat_glob(root, cases[i].pattern, &list, &error);
        CHECK_U64(cases[i].pattern, status, cases[i].want[0] != '\0' ? LEAT_OK : LEAT_INVALID);
        for (size_t j = 0; j < list.count; j++) {
            leat_buffer_add_format(&got, j != 0 ? " %s" : "%s", list.names[j]);
            CHECK(access(list.paths[j], R_OK) == 0);
        }
        CHECK_TEXT(cases[i].pattern, leat_buffer_text(&got), cases[i].want);
        leat_buffer_deinit(&got);
        leat_path_list_deinit(&list);
    }
}

/* Several globs into one list, an absolute one, one relative to the working folder, and a link to a folder. */
static void test_glob_bases(void)
{
    leat_path_list list = {0};
    CHECK(symlink("b", below("a/link")) == 0);
    CHECK_OK(leat_glob("/nowhere", below("a/2.*"), &list, &error), &error);
    CHECK(chdir(root) == 0);
    CHECK_OK(leat_glob(NULL, "a/*/3.x", &list, &error), &error);
    CHECK_OK(leat_glob("", "a/**/3.x", &list, &error), &error);
    CHECK_U64("paths", list.count, 4);
    CHECK_TEXT("absolute", list.paths[0], below("a/2.x"));
    CHECK_TEXT("relative", list.paths[1], "a/b/3.x");
    CHECK_TEXT("through a link", list.paths[2], "a/link/3.x");
    CHECK_TEXT("** does not follow it", list.paths[3], "a/b/3.x");
    CHECK_TEXT("name", list.names[3], "b/3.x");
    leat_path_list_deinit(&list);
}

static void test_files(void)
{
    leat_store *store = leat_store_posix();
    leat_file *file;
    leat_file_stat found;
    leat_buffer whole = {0};
    char bytes[8] = "";
    CHECK_OK(store->open(store, below("a/10.x"), &file, &error), &error);
    CHECK_OK(store->read(file, 2, bytes, 4, &error), &error);
    CHECK_TEXT("middle", bytes, "10.x");
    CHECK_U64("past the end", store->read(file, 4, bytes, 7, &error), LEAT_IO);
    CHECK_HAS("there", error.found, "2 bytes");
    CHECK_HAS("wanted", error.wanted, "7 bytes");
    CHECK_HAS("place", error.where, "byte 4");
    store->advise(file, 0, 4);
    store->close(file);
    store->close(NULL);
    CHECK_U64("missing", store->open(store, below("none"), &file, &error), LEAT_NOT_FOUND);
    CHECK_U64("folder", store->open(store, below("a"), &file, &error), LEAT_IO);
    CHECK(mkfifo(below("pipe"), 0600) == 0);
    CHECK_U64("pipe", store->open(store, below("pipe"), &file, &error), LEAT_IO);
    CHECK(unlink(below("pipe")) == 0);
    CHECK_OK(store->stat(store, below("a"), &found, &error), &error);
    CHECK(found.is_folder);
    CHECK_OK(leat_store_read_whole(store, below("top"), 3, &whole, &error), &error);
    CHECK_TEXT("whole", leat_buffer_text(&whole), "top");
    CHECK_U64("limit", leat_store_read_whole(store, below("top"), 2, &whole, &error), LEAT_LIMIT);
    CHECK_U64("file in the way", leat_store_make_folder(below("top/x"), &error), LEAT_IO);
    leat_buffer_deinit(&whole);
}

/* Until commit the old content stands; a discarded or failed write leaves nothing behind. */
static void test_writer(void)
{
    leat_store *store = leat_store_posix();
    leat_writer *writer, *second;
    leat_buffer whole = {0};
    CHECK_OK(leat_store_make_folder(below("w"), &error), &error);
    make_file("w/f");
    CHECK_OK(store->create(store, below("w/f"), &writer, &error), &error);
    CHECK_OK(store->create(store, below("w/f"), &second, &error), &error);
    CHECK_OK(store->write(writer, 3, (leat_bytes){(const uint8_t *)"def", 3}, &error), &error);
    CHECK_OK(store->write(writer, 0, (leat_bytes){(const uint8_t *)"abc", 3}, &error), &error);
    CHECK_OK(leat_store_read_whole(store, below("w/f"), 100, &whole, &error), &error);
    CHECK_TEXT("old", leat_buffer_text(&whole), "w/f");
    CHECK_OK(store->commit(writer, &error), &error);
    store->discard(second);
    store->discard(NULL);
    CHECK_OK(leat_store_read_whole(store, below("w/f"), 100, &whole, &error), &error);
    CHECK_TEXT("new", leat_buffer_text(&whole), "abcdef");
    CHECK_U64("onto a folder",
              store->write_whole(store, below("a"), (leat_bytes){(const uint8_t *)"", 0}, &error),
              LEAT_IO);
    leat_path_list list = {0};
    CHECK_OK(leat_glob(root, "w/*", &list, &error), &error);
    CHECK_U64("files", list.count, 1);
    CHECK_U64("no leftover", leat_glob(root, "**/.*.tmp", &list, &error), LEAT_INVALID);
    leat_path_list_deinit(&list);
    leat_buffer_deinit(&whole);
}

int main(void)
{
    CHECK(mkdtemp(root) != NULL);
    test_globs();
    test_glob_bases();
    test_files();
    test_writer();
    char *command = leat_format("rm -rf '%s'", root);
    CHECK(system(command) == 0);
    leat_free(command);
    return check_done();
}
