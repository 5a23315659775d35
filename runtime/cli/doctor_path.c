/* doctor_path.c: does a folder do what a run folder needs: write, sync, link and rename? */
#include "base/memory.h"
#include "cli/doctor.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Magic numbers of statfs(2). */
static const struct {
    uint32_t magic;
    const char *name;
    bool network;
} kinds[] = {
    {0x0000ef53, "ext4", false},   {0x58465342, "xfs", false},      {0x9123683e, "btrfs", false},
    {0x2fc12fc1, "zfs", false},    {0x01021994, "tmpfs", false},    {0x794c7630, "overlay", false},
    {0xf2f52010, "f2fs", false},   {0x73717368, "squashfs", false}, {0x00006969, "NFS", true},
    {0x0bd00bd0, "Lustre", true},  {0x47504653, "GPFS", true},      {0x19830326, "BeeGFS", true},
    {0x00c36400, "Ceph", true},    {0xff534d42, "CIFS", true},      {0xfe534d42, "SMB2", true},
    {0x01021997, "9p", true},      {0x65735546, "FUSE", true},      {0xaad7aaea, "PanFS", true},
    {0x20030528, "OrangeFS", true}};

static const char *kind_of(const struct statfs *system, bool *network, char *unknown, size_t size)
{
    uint32_t magic = (uint32_t)system->f_type;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (kinds[i].magic == magic) {
            *network = kinds[i].network;
            return kinds[i].name;
        }
    }
    *network = false;
    snprintf(unknown, size, "a file system of type 0x%x", magic);
    return unknown;
}

static bool sync_folder(const char *path)
{
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    /* EINVAL: this file system has no such thing, and a rename needs none. */
    bool fine = folder >= 0 && (fsync(folder) == 0 || errno == EINVAL);
    int saved = errno;
    if (folder >= 0) {
        close(folder);
    }
    errno = saved;
    return fine;
}

/* The first thing that does not work, with errno; NULL where all does. */
static const char *try_writing(const char *path)
{
    char *one = leat_format("%s/.leat-doctor-%ld.tmp", path, (long)getpid());
    char *two = leat_format("%s/.leat-doctor-%ld-2.tmp", path, (long)getpid());
    const char *failed = NULL;
    int file = open(one, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0) {
        failed = "make a file";
    } else if (write(file, "leat", 4) != 4) {
        failed = "write";
    } else if (fsync(file) != 0) {
        failed = "sync a file (fsync)";
    } else if (link(one, two) != 0) {
        failed = "make a hard link";
    } else if (rename(one, two) != 0 || (unlink(one) != 0 && errno != ENOENT)) {
        failed = "rename";
    } else if (!sync_folder(path)) {
        failed = "sync a folder (fsync)";
    }
    int saved = errno;
    if (file >= 0) {
        close(file);
        unlink(one);
        unlink(two);
    }
    leat_free(one);
    leat_free(two);
    errno = saved;
    return failed;
}

void leat_doctor_path(leat_doctor *doctor, const char *path)
{
    struct statfs system;
    struct stat status;
    char unknown[64];
    bool network = false;
    leat_doctor_finding *finding;
    if (stat(path, &status) != 0 || statfs(path, &system) != 0) {
        finding =
            leat_doctor_add(doctor, "path", LEAT_DOCTOR_FAIL, "%.400s: %s", path, strerror(errno));
        leat_doctor_remedy(finding, "give a folder that is there");
        return;
    }
    const char *kind = kind_of(&system, &network, unknown, sizeof unknown);
    unsigned long long free_mib =
        (unsigned long long)system.f_bavail * (unsigned long long)system.f_bsize >> 20;
    if (!S_ISDIR(status.st_mode)) {
        leat_doctor_add(doctor, "path", LEAT_DOCTOR_OK, "%.400s: %s; a file, so only looked at",
                        path, kind);
        return;
    }
    const char *failed = try_writing(path);
    if (failed != NULL) {
        finding = leat_doctor_add(doctor, "path", LEAT_DOCTOR_FAIL,
                                  "%.400s: %s, %llu MiB free; cannot %s: %s", path, kind, free_mib,
                                  failed, strerror(errno));
        leat_doctor_remedy(finding, "a run folder needs to write, sync, link and rename: give "
                                    "another folder to --out (and index_dir in the job file where "
                                    "the data cannot be written beside)");
        return;
    }
    finding = leat_doctor_add(doctor, "path", LEAT_DOCTOR_OK,
                              "%.400s: %s, %llu MiB free; write, fsync, link and rename work", path,
                              kind, free_mib);
    if (free_mib < 64) {
        finding->level = LEAT_DOCTOR_WARN;
        leat_doctor_remedy(finding, "there is little room for checkpoints and logs");
    } else if (strcmp(kind, "tmpfs") == 0) {
        finding->level = LEAT_DOCTOR_WARN;
        leat_doctor_remedy(finding, "it is in memory: a run folder here is gone with the node");
    } else if (network) {
        leat_doctor_remedy(finding, "shared by nodes; no file locks are used, so none are needed");
    }
}
