/* doctor_ranks.c: MPI as it was started, and the cores of each host against the ranks on it. */
#include "base/memory.h"
#include "cli/doctor.h"
#include "collectives/mpi/mpi_facts.h"
#include "collectives/wire.h"
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

enum { HOST_BYTES = 64, MASK_BYTES = 1024, RECORD_BYTES = HOST_BYTES + 8 + MASK_BYTES };

/* What a rank says of itself: host name, cores that are online, and the mask it is bound to (all zero: not known). */
static void look(uint8_t record[RECORD_BYTES])
{
    memset(record, 0, RECORD_BYTES);
    if (gethostname((char *)record, HOST_BYTES - 1) != 0) {
        record[0] = '?';
    }
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    leat_put_u64(record + HOST_BYTES, online > 0 ? (uint64_t)online : 0);
    cpu_set_t *mask = leat_alloc(1, MASK_BYTES);
    if (sched_getaffinity(0, MASK_BYTES, mask) == 0) {
        for (size_t core = 0; core < (size_t)MASK_BYTES * 8; core++) {
            if (CPU_ISSET_S(core, MASK_BYTES, mask)) {
                record[HOST_BYTES + 8 + core / 8] |= (uint8_t)(1u << core % 8);
            }
        }
    }
    leat_free(mask);
}

static unsigned cores_in(const uint8_t mask[MASK_BYTES])
{
    unsigned count = 0;
    for (size_t i = 0; i < MASK_BYTES; i++) {
        count += (unsigned)__builtin_popcount(mask[i]);
    }
    return count;
}

static void judge_host(leat_doctor *doctor, const char *host, unsigned ranks, unsigned cores,
                       unsigned least, uint64_t online, int yields)
{
    leat_doctor_finding *finding =
        leat_doctor_add(doctor, "cores", LEAT_DOCTOR_OK,
                        "%s: ranks: %u, cores they may use: %u of %llu online, at least %u each",
                        host, ranks, cores, (unsigned long long)online, least);
    if (cores == 0) {
        finding->level = LEAT_DOCTOR_WARN;
        leat_doctor_remedy(finding, "the core mask cannot be read; set `threads` in the job file");
    } else if (ranks > cores && yields == 0) {
        finding->level = LEAT_DOCTOR_WARN;
        leat_doctor_remedy(finding,
                           "more ranks than cores, and waiting ranks do not yield: set "
                           "OMPI_MCA_mpi_yield_when_idle=1 in the environment of the ranks");
    } else if (ranks > cores) {
        finding->level = LEAT_DOCTOR_WARN;
        leat_doctor_remedy(finding,
                           "more ranks than cores: give the job more cores, or start "
                           "fewer ranks%s",
                           yields > 0 ? " (mpi_yield_when_idle is on, as it must be then)" : "");
    } else if (least == 1) {
        finding->level = LEAT_DOCTOR_WARN;
        leat_doctor_remedy(finding, "a rank has one core for trainer, loader and workers: "
                                    "mpirun --bind-to none (or --map-by slot:PE=4), srun -c 4");
    } else if (least * ranks > cores && ranks > 1) {
        leat_doctor_remedy(finding,
                           "the ranks share these cores; each starts a worker for every core in "
                           "its mask but two: set `threads` to %u in the job file",
                           cores / ranks > 3 ? cores / ranks - 2 : 1);
    }
}

static void judge_hosts(leat_doctor *doctor, const uint8_t *all, size_t size, int yields)
{
    bool *seen = leat_alloc(size, sizeof *seen);
    size_t hosts = 0;
    for (size_t first = 0; first < size; first++) {
        const uint8_t *record = all + first * RECORD_BYTES;
        uint8_t together[MASK_BYTES] = {0};
        unsigned ranks = 0, least = UINT32_MAX;
        for (size_t r = first; r < size && !seen[first]; r++) {
            const uint8_t *other = all + r * RECORD_BYTES, *mask = other + HOST_BYTES + 8;
            if (memcmp(record, other, HOST_BYTES) != 0) {
                continue;
            }
            unsigned mine = cores_in(mask);
            seen[r] = r != first;
            ranks++;
            least = mine < least ? mine : least;
            for (size_t i = 0; i < MASK_BYTES; i++) {
                together[i] |= mask[i];
            }
        }
        if (ranks != 0 && hosts++ < 32) {
            judge_host(doctor, (const char *)record, ranks, cores_in(together), least,
                       leat_get_u64(record + HOST_BYTES), yields);
        }
    }
    if (hosts > 32) {
        leat_doctor_add(doctor, "cores", LEAT_DOCTOR_OK, "and %zu hosts more", hosts - 32);
    }
    leat_free(seen);
}

static void judge_mpi(leat_doctor *doctor, const leat_mpi_facts *facts, int ranks)
{
    leat_doctor_finding *finding;
    if (!facts->running) {
        finding = leat_doctor_add(doctor, "MPI", LEAT_DOCTOR_OK, "%s (MPI %d.%d), not started",
                                  facts->library, facts->version, facts->subversion);
        leat_doctor_remedy(finding, "start leat doctor as the job is started (mpirun, srun, or "
                                    "with --mpi) to see its thread level and binding");
        return;
    }
    finding = leat_doctor_add(doctor, "MPI", LEAT_DOCTOR_OK,
                              "%s (MPI %d.%d), ranks: %d, thread level: %s", facts->library,
                              facts->version, facts->subversion, ranks, facts->thread_level);
    if (!facts->any_thread) {
        finding->level = LEAT_DOCTOR_WARN;
        leat_doctor_remedy(finding, "without MPI_THREAD_MULTIPLE the trainer's thread drives the "
                                    "loader: call leat_loader_poll often");
    }
}

leat_status leat_doctor_ranks(leat_doctor *doctor, leat_error *error)
{
    leat_wire *wire = doctor->cli->wire;
    leat_mpi_facts facts;
    uint8_t mine[RECORD_BYTES];
    leat_mpi_look(&facts);
    look(mine);
    uint8_t *all = leat_alloc((size_t)wire->size, RECORD_BYTES);
    leat_status status =
        leat_wire_gather_equal(wire, LEAT_CHANNEL_CALL, mine, all, RECORD_BYTES, error);
    if (status == LEAT_OK) {
        judge_mpi(doctor, &facts, wire->size);
        judge_hosts(doctor, all, (size_t)wire->size, facts.yields);
    }
    leat_free(all);
    return status;
}
