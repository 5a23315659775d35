/* The owner file: living and dead owners here, silent and renewing ones elsewhere (by a clock of our own), races of takers, a
 * kill at every file call. */
#include "base/memory.h"
#include "check.h"
#include "file_faults.h"
#include "io/state/state_calls.h"
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char folder[] = "/tmp/leat_owner_XXXXXX", path[64];
static leat_error error;

/* A clock that moves only when slept on; after `events[i].at` seconds something happens. */
static uint64_t fake_now;
static void (*fake_event)(void);
static uint64_t fake_event_at = UINT64_MAX;

static uint64_t now_fake(void *context)
{
    (void)context;
    return fake_now;
}

static void sleep_fake(void *context, uint64_t ns)
{
    (void)context;
    fake_now += ns;
    if (fake_now >= fake_event_at) {
        fake_event_at = UINT64_MAX;
        fake_event();
    }
}

static const leat_clock fake = {now_fake, now_fake, sleep_fake, NULL};

static void put_text(const char *text)
{
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    CHECK(file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text));
    close(file);
}

static void put_owner(const char *host, const char *nonce, const char *renewed)
{
    char text[512];
    snprintf(text, sizeof text,
             "{\"host\":\"%s\",\"pid\":1,\"start\":5,\"boot\":\"b\",\"namespace\":\"n\",\"job\":"
             "\"theirs\",\"nonce\":\"%s\",\"renewed\":\"%s\"}\n",
             host, nonce, renewed);
    put_text(text);
}

static size_t count_files(void)
{
    size_t count = 0;
    DIR *entries = opendir(folder);
    for (struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;) {
        count += entry->d_name[0] != '.';
    }
    if (entries != NULL) {
        closedir(entries);
    }
    return count;
}

static leat_status take(leat_owner **out)
{
    return leat_owner_take(out, folder, "ours", &fake, &error);
}

static void test_here(void)
{
    leat_owner *owner, *second;
    CHECK_OK(take(&owner), &error);
    CHECK_U64("one file", count_files(), 1);
    CHECK_OK(leat_owner_check(owner, &error), &error);
    CHECK_OK(leat_owner_renew(owner, &error), &error);
    CHECK_OK(leat_owner_renew(owner, &error), &error);
    leat_buffer text = {0};
    CHECK_OK(leat_state_read_file(path, 4096, &text, &error), &error);
    CHECK_HAS("renewed in place", leat_buffer_text(&text),
              "\"renewed\":\"00000000000000000002\"}\n");
    leat_buffer_deinit(&text);
    uint64_t before = fake_now;
    CHECK(take(&second) == LEAT_MISMATCH);
    CHECK_U64("refused at once", fake_now, before);
    CHECK_HAS("named", error.text, "in use by job ours (process ");
    CHECK_U64("nothing left over", count_files(), 1);
    CHECK(second == NULL);
    leat_owner_release(owner);
    CHECK_U64("removed at a clean end", count_files(), 0);
    CHECK_OK(take(&owner), &error);
    leat_owner_release(owner);
    leat_owner_release(NULL);
}

/* A child takes the folder and is killed (or becomes a zombie, or its pid is another process's now). */
static void test_dead_here(void)
{
    for (int round = 0; round < 2; round++) {
        int pipe_ends[2];
        CHECK(pipe(pipe_ends) == 0);
        pid_t child = fork();
        if (child == 0) {
            leat_owner *owner;
            char ok = take(&owner) == LEAT_OK ? 'y' : 'n';
            CHECK(write(pipe_ends[1], &ok, 1) == 1);
            for (;;) {
                pause();
            }
        }
        char ok = 'n';
        leat_owner *owner;
        CHECK(read(pipe_ends[0], &ok, 1) == 1 && ok == 'y');
        CHECK(take(&owner) == LEAT_MISMATCH);
        kill(child, SIGKILL);
        if (round == 0) {
            siginfo_t info;
            CHECK(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT) == 0); /* a zombie */
        } else {
            CHECK(waitpid(child, NULL, 0) == child);
        }
        uint64_t before = fake_now;
        CHECK_OK(take(&owner), &error);
        CHECK(fake_now - before < 1000000000u);
        CHECK_U64("one file", count_files(), 1);
        leat_owner_release(owner);
        waitpid(child, NULL, 0);
        close(pipe_ends[0]);
        close(pipe_ends[1]);
    }
    /* Our own pid, but another start time: the owner was an earlier process of that number. */
    leat_owner *owner, *next;
    leat_buffer text = {0};
    CHECK_OK(take(&owner), &error);
    CHECK_OK(leat_state_read_file(path, 4096, &text, &error), &error);
    leat_buffer_text(&text);
    char *start = strstr((char *)text.data, "\"start\":");
    start[8] = start[8] == '9' ? '8' : (char)(start[8] + 1);
    put_text((char *)text.data);
    CHECK_OK(take(&next), &error);
    leat_owner_release(next);
    CHECK(leat_owner_check(owner, &error) == LEAT_MISMATCH);
    leat_owner_release(owner);
    leat_buffer_deinit(&text);
}

static void renew_theirs(void)
{
    put_owner("elsewhere", "aa", "2");
}
static void remove_theirs(void)
{
    unlink(path);
}
static void replace_theirs(void)
{
    put_owner("elsewhere", "bb", "0");
}
static void tear_theirs(void)
{
    put_text("{\"host\":");
}

static void test_elsewhere(void)
{
    const struct {
        const char *label;
        void (*event)(void);
        uint64_t at; /* seconds */
        leat_status want;
        uint64_t seconds, seconds_max;
    } cases[] = {
        {"silent", NULL, 0, LEAT_OK, 30, 31},
        {"renewed", renew_theirs, 5, LEAT_MISMATCH, 5, 6},
        {"renewed late", renew_theirs, 29, LEAT_MISMATCH, 29, 30},
        {"ends cleanly", remove_theirs, 7, LEAT_OK, 7, 8},
        {"another one takes it and is silent", replace_theirs, 10, LEAT_OK, 40, 41},
        {"torn", tear_theirs, 10, LEAT_OK, 40, 41},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        leat_owner *owner;
        uint64_t before = fake_now;
        put_owner("elsewhere", "aa", "1");
        fake_event = cases[i].event;
        fake_event_at = fake_event != NULL ? fake_now + cases[i].at * 1000000000u : UINT64_MAX;
        leat_status status = take(&owner);
        CHECK_U64(cases[i].label, status, cases[i].want);
        uint64_t seconds = (fake_now - before) / 1000000000u;
        if (!CHECK(seconds >= cases[i].seconds && seconds <= cases[i].seconds_max)) {
            printf("  %s: %" PRIu64 " s\n", cases[i].label, seconds);
        }
        if (status == LEAT_MISMATCH) {
            CHECK_HAS(cases[i].label, error.text, "job theirs (process 1 on elsewhere)");
        }
        CHECK_U64("one file", count_files(), 1);
        leat_owner_release(owner);
        unlink(path);
    }
}

/* Two takers of a dead owner: the other one's rename comes after ours, and we see it when reading back. */
static void test_later_taker(void)
{
    leat_owner *owner;
    pid_t dead = fork();
    if (dead == 0) {
        _exit(take(&owner) != LEAT_OK);
    }
    waitpid(dead, NULL, 0);
    fake_event = replace_theirs;
    fake_event_at = fake_now + 1;
    CHECK(take(&owner) == LEAT_MISMATCH);
    CHECK_HAS("named", error.text, "taken over by job theirs (process 1 on elsewhere)");
    CHECK_U64("theirs stays", count_files(), 1);
    unlink(path);
}

/* Damaged owner files are waited for and then replaced. */
static void test_damaged(void)
{
    const char *texts[] = {"", "\n", "{}", "{\"host\":1}", "not json", "[1,2", "{\"pid\":-1}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        leat_owner *owner;
        uint64_t before = fake_now;
        put_text(texts[i]);
        CHECK_OK(take(&owner), &error);
        CHECK((fake_now - before) / 1000000000u == 30);
        leat_owner_release(owner);
    }
    CHECK(mkdir(path, 0777) == 0);
    leat_owner *owner;
    CHECK(take(&owner) == LEAT_CORRUPT);
    rmdir(path);
    CHECK(leat_owner_take(&owner, "/nowhere", "ours", &fake, &error) == LEAT_IO);
}

static void test_taken_over(void)
{
    leat_owner *owner;
    CHECK_OK(take(&owner), &error);
    unlink(path);
    CHECK(leat_owner_renew(owner, &error) == LEAT_MISMATCH);
    CHECK_HAS("removed", error.text, "removed");
    put_owner("elsewhere", "cc", "1");
    CHECK(leat_owner_renew(owner, &error) == LEAT_MISMATCH);
    CHECK_HAS("named", error.text, "taken over by job theirs (process 1 on elsewhere)");
    CHECK(leat_owner_check(owner, &error) == LEAT_MISMATCH);
    leat_owner_release(owner);
    CHECK_U64("the successor's file stays", count_files(), 1);
    unlink(path);
}

/* Eight processes want a free folder, or one of a dead owner, at once: one gets it. */
static void test_race(void)
{
    enum { TAKERS = 8 };
    for (int round = 0; round < 6; round++) {
        pid_t children[TAKERS], dead = fork();
        if (dead == 0) {
            leat_owner *owner;
            _exit(round % 2 == 1 && take(&owner) != LEAT_OK);
        }
        waitpid(dead, NULL, 0);
        int start[2], end[2];
        CHECK(pipe(start) == 0 && pipe(end) == 0);
        for (int i = 0; i < TAKERS; i++) {
            if ((children[i] = fork()) == 0) {
                leat_owner *owner;
                char byte;
                close(start[1]);
                close(end[1]);
                (void)!read(start[0], &byte, 1); /* ends when the parent closes */
                leat_status status =
                    leat_owner_take(&owner, folder, "racer", leat_clock_system(), &error);
                if (status == LEAT_OK) {
                    (void)!read(end[0], &byte, 1);
                }
                _exit(status == LEAT_OK ? 0 : status == LEAT_MISMATCH ? 1 : 2);
            }
        }
        close(start[0]);
        close(end[0]);
        close(start[1]);
        usleep(900000);
        close(end[1]);
        int won = 0, lost = 0;
        for (int i = 0; i < TAKERS; i++) {
            int state;
            CHECK(waitpid(children[i], &state, 0) == children[i] && WIFEXITED(state));
            won += WEXITSTATUS(state) == 0;
            lost += WEXITSTATUS(state) == 1;
        }
        CHECK_U64("winners", (uint64_t)won, 1);
        CHECK_U64("losers", (uint64_t)lost, TAKERS - 1);
        unlink(path);
        CHECK_U64("nothing left over", count_files(), 0);
    }
}

static void test_killed(void)
{
    bool finished = false;
    for (long at = 0; !finished; at++) {
        pid_t child = fork();
        if (child == 0) {
            file_faults faults;
            leat_owner *owner;
            file_faults_init(&faults, at, EIO);
            faults.kill = 1;
            _exit(leat_owner_take_with(&owner, &faults.ops, folder, "x", &fake, &error) != LEAT_OK);
        }
        int state;
        leat_owner *owner;
        CHECK(waitpid(child, &state, 0) == child);
        finished = WIFEXITED(state);
        CHECK(finished ? WEXITSTATUS(state) == 0 : WTERMSIG(state) == SIGKILL);
        CHECK_OK(take(&owner), &error);
        CHECK_U64("stale temporary files are cleaned", count_files(), 1);
        leat_owner_release(owner);
    }
    for (long at = 0; at < 4; at++) { /* create, write, sync, link */
        file_faults faults;
        leat_owner *owner;
        file_faults_init(&faults, at, EIO);
        leat_status status = leat_owner_take_with(&owner, &faults.ops, folder, "x", &fake, &error);
        CHECK_U64("status", status, LEAT_IO);
        CHECK(owner == NULL);
        CHECK_OK(take(&owner), &error);
        leat_owner_release(owner);
        CHECK_U64("clean", count_files(), 0);
    }
}

int main(void)
{
    CHECK(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/owner", folder);
    test_here();
    test_dead_here();
    test_elsewhere();
    test_later_taker();
    test_damaged();
    test_taken_over();
    test_race();
    test_killed();
    rmdir(folder);
    return check_done();
}
