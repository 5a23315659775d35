/* The owner file is one line of JSON and a counter that is renewed in place:
 *     {"host":"n0","pid":123,"start":4567,"boot":"…","namespace":"…","job":"…","nonce":"…","renewed":"00000000000000000017"}
 * It is made by link(), which fails where a file is there, and replaced by rename() only while it is still the one that was
 * judged.  The counter goes through the descriptor of the file we made, so a run that was taken over cannot overwrite its
 * successor's.  host, boot and namespace together say whether a process can be looked up here. */
#include "base/json.h"
#include "base/json_out.h"
#include "base/memory.h"
#include "io/state/state_calls.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#define SECOND ((uint64_t)1000000000)
#define SILENCE_MAX (30 * SECOND) /* an owner that is not renewed for so long is gone */
#define SETTLE (SECOND / 4)       /* after a takeover, before the file is read back */
enum { OWNER_BYTES_MAX = 16384, COUNTER_DIGITS = 20, TRIES_MAX = 100 };

typedef struct identity {
    char host[256], boot[64], namespace[64], job[256], nonce[33];
    uint64_t pid, start;
    bool whole; /* read from a whole file */
} identity;

struct leat_owner {
    const leat_file_ops *ops;
    const leat_clock *clock;
    char *path;
    int file;         /* the one we made */
    leat_buffer text; /* what we wrote, with the counter at 0 */
    uint64_t counter_offset, renewed;
    identity self;
};

/* First line of a small file of the kernel's, or the target of a link; "" where there is none. */
static void read_line(const char *path, bool link, char *out, size_t size)
{
    ssize_t got = -1;
    int file = link ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    if (link) {
        got = readlink(path, out, size - 1);
    } else if (file >= 0) {
        got = read(file, out, size - 1);
        close(file);
    }
    out[got > 0 ? got : 0] = '\0';
    out[strcspn(out, "\n")] = '\0';
}

/* Start time of a process in clock ticks since boot; false where it is gone or a zombie.  0: /proc does not tell. */
static bool process_start(uint64_t pid, uint64_t *start)
{
    char path[64], text[1024], state;
    *start = 0;
    snprintf(path, sizeof path, "/proc/%" PRIu64 "/stat", pid);
    read_line(path, false, text, sizeof text);
    /* The name in parentheses may hold anything, so fields are counted from the last one. */
    char *at = strrchr(text, ')');
    if (at == NULL) {
        return pid <= INT32_MAX && (kill((pid_t)pid, 0) == 0 || errno == EPERM);
    }
    int fields = sscanf(at,
                        ") %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
                        "%*s %*s %" SCNu64,
                        &state, start);
    return fields < 1 || (state != 'Z' && state != 'X');
}

static void identify_self(identity *self, const char *job)
{
    uint8_t nonce[16];
    *self = (identity){.pid = (uint64_t)getpid(), .whole = true};
    if (gethostname(self->host, sizeof self->host - 1) != 0) {
        snprintf(self->host, sizeof self->host, "unknown");
    }
    read_line("/proc/sys/kernel/random/boot_id", false, self->boot, sizeof self->boot);
    read_line("/proc/self/ns/pid", true, self->namespace, sizeof self->namespace);
    snprintf(self->job, sizeof self->job, "%s", job);
    process_start(self->pid, &self->start);
    for (size_t got = 0; got < sizeof nonce;) {
        ssize_t n = getrandom(nonce + got, sizeof nonce - got, 0);
        got += n > 0 ? (size_t)n : 0;
    }
    leat_hex(nonce, sizeof nonce, self->nonce);
}

static void write_identity(const identity *self, leat_buffer *text)
{
    leat_json_out out = {text, false};
    leat_json_object(&out);
    leat_json_key_text(&out, "host", self->host);
    leat_json_key_u64(&out, "pid", self->pid);
    leat_json_key_u64(&out, "start", self->start);
    leat_json_key_text(&out, "boot", self->boot);
    leat_json_key_text(&out, "namespace", self->namespace);
    leat_json_key_text(&out, "job", self->job);
    leat_json_key_text(&out, "nonce", self->nonce);
    /* A text, because its width is fixed: it is overwritten in place. */
    leat_json_key_text(&out, "renewed", "00000000000000000000");
    leat_json_object_end(&out);
    leat_buffer_add_u8(text, '\n');
}

static void copy_member(leat_json_value root, const char *key, char *out, size_t size, bool *whole)
{
    leat_bytes text = {NULL, 0};
    *whole = leat_json_get_text(leat_json_member(root, key), &text) && *whole;
    snprintf(out, size, "%.*s", (int)(text.size < size ? text.size : size - 1),
             text.data != NULL ? (const char *)text.data : "");
}

static void parse_identity(const leat_buffer *text, identity *out)
{
    leat_error ignored;
    leat_json_value root;
    leat_json *json = leat_json_open();
    *out = (identity){.whole = false};
    if (leat_json_parse(json, (leat_bytes){text->data, text->size}, "owner", &root, &ignored) ==
        LEAT_OK) {
        out->whole = leat_json_get_u64(leat_json_member(root, "pid"), &out->pid) &&
                     leat_json_get_u64(leat_json_member(root, "start"), &out->start);
        copy_member(root, "host", out->host, sizeof out->host, &out->whole);
        copy_member(root, "boot", out->boot, sizeof out->boot, &out->whole);
        copy_member(root, "namespace", out->namespace, sizeof out->namespace, &out->whole);
        copy_member(root, "job", out->job, sizeof out->job, &out->whole);
        copy_member(root, "nonce", out->nonce, sizeof out->nonce, &out->whole);
    }
    leat_json_close(json);
}

typedef enum verdict { GONE, LIVES, UNKNOWN } verdict;

static verdict judge(const identity *other, const identity *self)
{
    uint64_t start;
    if (!other->whole || strcmp(other->host, self->host) != 0 ||
        strcmp(other->boot, self->boot) != 0 || strcmp(other->namespace, self->namespace) != 0) {
        return UNKNOWN;
    }
    return process_start(other->pid, &start) && (start == 0 || start == other->start) ? LIVES
                                                                                      : GONE;
}

static leat_status held(const char *path, const identity *other, leat_error *error)
{
    LEAT_FAIL(error, LEAT_MISMATCH,
              "the run folder is in use by job %s (process %" PRIu64 " on %s)", other->job,
              other->pid, other->host);
    leat_error_where(error, "%s", path);
    leat_error_found(error, "process %" PRIu64 " on %s, renewing its owner file", other->pid,
                     other->host);
    leat_error_wanted(error, "no living owner");
    leat_error_hint(error, "stop that run first (leat stop), or use another run folder");
    return error->status;
}

static bool same(const leat_buffer *a, const leat_buffer *b)
{
    return a->size == b->size && (a->size == 0 || memcmp(a->data, b->data, a->size) == 0);
}

/* Waits until the owner shows that it lives (MISMATCH), was silent for 30 s (OK), or the file is another one (OK: look again).
 * Time is our own: clocks of two hosts are never compared. */
static leat_status wait_for_silence(const leat_owner *owner, const leat_buffer *seen,
                                    const identity *other, leat_error *error)
{
    const leat_clock *clock = owner->clock;
    uint64_t start = clock->now_ns(clock->context);
    leat_buffer now = {0};
    leat_status status = LEAT_OK;
    while (status == LEAT_OK && clock->now_ns(clock->context) - start < SILENCE_MAX) {
        clock->sleep_ns(clock->context, SECOND);
        leat_error ignored;
        if (leat_state_read_file(owner->path, OWNER_BYTES_MAX, &now, &ignored) != LEAT_OK) {
            break;
        }
        if (!same(&now, seen)) {
            identity present;
            parse_identity(&now, &present);
            if (present.whole && strcmp(present.nonce, other->nonce) == 0) {
                status = held(owner->path, &present, error);
            }
            break; /* another owner, or one that was being written: judged anew */
        }
    }
    leat_buffer_deinit(&now);
    return status;
}

/* Puts the owner's own file at its place: a new one where nobody was there, else instead of the one with the content seen.
 * *done: false where somebody else was faster. */
static leat_status place(leat_owner *owner, const char *temporary, bool there,
                         const leat_buffer *seen, bool *done, leat_error *error)
{
    const leat_file_ops *ops = owner->ops;
    leat_buffer now = {0};
    leat_error ignored;
    bool replace = there &&
                   leat_state_read_file(owner->path, OWNER_BYTES_MAX, &now, &ignored) == LEAT_OK &&
                   same(&now, seen);
    leat_buffer_deinit(&now);
    *done = false;
    if (!there) {
        *done = ops->link(ops->context, temporary, owner->path) == 0;
        replace = !*done && (errno == EPERM || errno == ENOTSUP || errno == ENOSYS);
        if (!*done && !replace && errno != EEXIST) {
            leat_fail_errno(error, "make", owner->path, errno);
            return error->status = LEAT_IO;
        }
    }
    if (replace) {
        if (ops->rename(ops->context, temporary, owner->path) != 0) {
            leat_fail_errno(error, "replace", owner->path, errno);
            return error->status = LEAT_IO;
        }
        *done = true;
        /* Two takers may have judged the same dead owner: the later rename stays, and both read back after it. */
        owner->clock->sleep_ns(owner->clock->context, SETTLE);
    }
    return LEAT_OK;
}

/* Reads who is there; OK: nobody (*there false), or one who is gone. */
static leat_status look(leat_owner *owner, leat_buffer *seen, bool *there, leat_error *error)
{
    identity other;
    leat_buffer_clear(seen);
    leat_status status = leat_state_read_file(owner->path, OWNER_BYTES_MAX, seen, error);
    *there = status != LEAT_NOT_FOUND;
    if (status != LEAT_OK) {
        return status == LEAT_NOT_FOUND ? LEAT_OK : status;
    }
    parse_identity(seen, &other);
    switch (judge(&other, &owner->self)) {
    case LIVES:
        return held(owner->path, &other, error);
    case UNKNOWN:
        return wait_for_silence(owner, seen, &other, error);
    case GONE:
        break;
    }
    return LEAT_OK;
}

static leat_status make_temporary(leat_owner *owner, const char *path, leat_error *error)
{
    const leat_file_ops *ops = owner->ops;
    leat_buffer *text = &owner->text;
    leat_status status = LEAT_OK;
    owner->file = ops->open(ops->context, path, O_RDWR | O_CREAT | O_EXCL, 0666);
    write_identity(&owner->self, text);
    owner->counter_offset =
        text->size - COUNTER_DIGITS - 3; /* before the last quote, brace, line end */
    if (owner->file < 0 || !leat_file_ops_write_all(ops, owner->file, text->data, text->size) ||
        ops->sync(ops->context, owner->file) != 0) {
        leat_fail_errno(error, "write", path, errno);
        error->status = status = LEAT_IO;
    }
    return status;
}

/* Temporary files of takers on this host that were killed: their names say whose they are. */
static void remove_stale(const leat_owner *owner, const char *run_folder)
{
    DIR *entries = opendir(run_folder);
    for (struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;) {
        uint64_t pid, start, now;
        int host = 0;
        if (sscanf(entry->d_name, "owner.%" SCNu64 ".%" SCNu64 ".%*8[0-9a-f].%n", &pid, &start,
                   &host) != 2 ||
            host == 0) {
            continue;
        }
        const char *name = entry->d_name + host;
        size_t length = strlen(owner->self.host);
        if (strncmp(name, owner->self.host, length) == 0 && strcmp(name + length, ".tmp") == 0 &&
            !(process_start(pid, &now) && (now == 0 || now == start))) {
            char *path = leat_format("%s/%s", run_folder, entry->d_name);
            owner->ops->remove(owner->ops->context, path);
            leat_free(path);
        }
    }
    if (entries != NULL) {
        closedir(entries);
    }
}

leat_status leat_owner_take_with(leat_owner **out, const leat_file_ops *ops, const char *run_folder,
                                 const char *job, const leat_clock *clock, leat_error *error)
{
    *out = NULL;
    leat_owner *owner = leat_alloc(1, sizeof *owner);
    *owner = (leat_owner){.ops = ops, .clock = clock, .file = -1};
    owner->path = leat_format("%s/owner", run_folder);
    identify_self(&owner->self, job);
    char *temporary =
        leat_format("%s.%" PRIu64 ".%" PRIu64 ".%.8s.%s.tmp", owner->path, owner->self.pid,
                    owner->self.start, owner->self.nonce, owner->self.host);
    leat_buffer seen = {0};
    leat_status status = LEAT_OK;
    bool done = false, there = false;
    LEAT_TRY(make_temporary(owner, temporary, error));
    for (int tries = 0; !done; tries++) {
        if (tries == TRIES_MAX) {
            status = LEAT_FAIL(error, LEAT_IO, "%s changes hands again and again", owner->path);
            goto done;
        }
        LEAT_TRY(look(owner, &seen, &there, error));
        LEAT_TRY(place(owner, temporary, there, &seen, &done, error));
    }
    LEAT_TRY(leat_owner_check(owner, error));
    remove_stale(owner, run_folder);
done:
    ops->remove(ops->context, temporary); /* the link's second name, or what a failure left */
    leat_free(temporary);
    leat_buffer_deinit(&seen);
    if (status == LEAT_OK) {
        *out = owner;
    } else {
        if (owner->file >= 0) {
            ops->close(ops->context, owner->file);
        }
        leat_buffer_deinit(&owner->text);
        leat_free(owner->path);
        leat_free(owner);
    }
    return status;
}

leat_status leat_owner_take(leat_owner **out, const char *run_folder, const char *job,
                            const leat_clock *clock, leat_error *error)
{
    return leat_owner_take_with(out, leat_file_ops_posix(), run_folder, job, clock, error);
}

/* The file is the one we wrote, whatever its counter says now. */
static bool is_ours(const leat_owner *owner, const leat_buffer *now)
{
    size_t end = owner->counter_offset + COUNTER_DIGITS;
    return now->size == owner->text.size &&
           memcmp(now->data, owner->text.data, owner->counter_offset) == 0 &&
           memcmp(now->data + end, owner->text.data + end, now->size - end) == 0;
}

static leat_status lost(const leat_owner *owner, leat_error *error)
{
    leat_error_where(error, "%s", owner->path);
    leat_error_wanted(error, "process %" PRIu64 " on %s", owner->self.pid, owner->self.host);
    leat_error_hint(error, "nothing more is written here; the other run goes on");
    return error->status;
}

leat_status leat_owner_check(leat_owner *owner, leat_error *error)
{
    leat_buffer text = {0};
    identity present;
    leat_status status = leat_state_read_file(owner->path, OWNER_BYTES_MAX, &text, error);
    if (status == LEAT_OK && !is_ours(owner, &text)) {
        parse_identity(&text, &present);
        LEAT_FAIL(error, LEAT_MISMATCH,
                  "this run was taken over by job %s (process %" PRIu64 " on %s)", present.job,
                  present.pid, present.host);
        status = lost(owner, error);
    } else if (status == LEAT_NOT_FOUND) {
        LEAT_FAIL(error, LEAT_MISMATCH, "the owner file of this run was removed");
        status = lost(owner, error);
    }
    leat_buffer_deinit(&text);
    return status;
}

leat_status leat_owner_renew(leat_owner *owner, leat_error *error)
{
    char digits[COUNTER_DIGITS + 1];
    leat_status status = leat_owner_check(owner, error);
    if (status != LEAT_OK) {
        return status;
    }
    owner->renewed++;
    snprintf(digits, sizeof digits, "%020" PRIu64, owner->renewed);
    if (pwrite(owner->file, digits, COUNTER_DIGITS, (off_t)owner->counter_offset) !=
        COUNTER_DIGITS) {
        leat_fail_errno(error, "renew", owner->path, errno);
        return error->status = LEAT_IO;
    }
    return LEAT_OK;
}

void leat_owner_release(leat_owner *owner)
{
    leat_error ignored;
    if (owner == NULL) {
        return;
    }
    if (leat_owner_check(owner, &ignored) == LEAT_OK) {
        owner->ops->remove(owner->ops->context, owner->path);
    }
    owner->ops->close(owner->ops->context, owner->file);
    leat_buffer_deinit(&owner->text);
    leat_free(owner->path);
    leat_free(owner);
}
