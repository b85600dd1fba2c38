/* Counts executed instructions in QEMU, and prints the count whenever one address is reached.
 *
 *   qemu-system-arm … -plugin libicount.so,mark=0xADDRESS -d plugin
 *
 * Debian has no package with QEMU's header, so what is used of its interface (version 1, QEMU 5 to 8) is declared here. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t qemu_plugin_id_t;
typedef struct {
    const char *target_name;
    struct { int min, cur; } version;
    bool system_emulation;
    union { struct { int smp_vcpus, max_vcpus; } system; };
} qemu_info_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum { INLINE_ADD_U64 = 0, CB_NO_REGS = 0 };
extern void qemu_plugin_register_vcpu_tb_trans_cb(
    qemu_plugin_id_t, void (*)(qemu_plugin_id_t, struct qemu_plugin_tb *));
extern void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *, int, void *, uint64_t);
extern void qemu_plugin_register_vcpu_insn_exec_cb(
    struct qemu_plugin_insn *, void (*)(unsigned, void *), int, void *);
extern void qemu_plugin_register_atexit_cb(qemu_plugin_id_t, void (*)(qemu_plugin_id_t, void *), void *);
extern size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
extern struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t);
extern uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *);

__attribute__((visibility("default"))) int qemu_plugin_version = 1;
static uint64_t total, mark = UINT64_MAX;

static void reached(unsigned cpu, void *data) {
    (void)cpu, (void)data;
    fprintf(stderr, "mark %" PRIu64 "\n", total);
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *block) {
    (void)id;
    for (size_t i = 0, n = qemu_plugin_tb_n_insns(block); i < n; i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(block, i);
        qemu_plugin_register_vcpu_insn_exec_inline(insn, INLINE_ADD_U64, &total, 1);
        if (qemu_plugin_insn_vaddr(insn) == mark)
            qemu_plugin_register_vcpu_insn_exec_cb(insn, reached, CB_NO_REGS, NULL);
    }
}

static void finish(qemu_plugin_id_t id, void *data) {
    (void)id, (void)data;
    fprintf(stderr, "total %" PRIu64 "\n", total);
}

__attribute__((visibility("default"))) int qemu_plugin_install(
    qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv) {
    (void)info;
    for (int i = 0; i < argc; i++)
        if (!strncmp(argv[i], "mark=", 5)) mark = strtoull(argv[i] + 5, NULL, 0);
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, finish, NULL);
    return 0;
}
