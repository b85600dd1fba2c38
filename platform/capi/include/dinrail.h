/*
 * dinrail for C and C++. Made by cbindgen from the sources of platform/capi: don't edit.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The path through it: pick a device; open a stream; build a graph and plan it, which tells how much memory it takes; make
 * buffers for arena and weights; join all to a program; compute. `examples/embed-c` has whole programs.
 *
 * The library allocates nothing for the objects below: they are structures in memory of the caller's. Fill one with zeros before
 * its first use. Only streams, events, prepared programs, buffers and mapped files are to be closed, in the reverse order
 * of their opening.
 *
 * "Threads: the stream's" and the like mean: one thread at a time for each object, whichever thread that is. "any" needs no
 * such care. A function whose comment doesn't name interrupts isn't called from them.
 */
#ifndef DINRAIL_H
#define DINRAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the functions' names begin with in the library. A library that was built with the environment variable
 * DINRAIL_C_PREFIX set is used with the same text defined here: so one program can hold two of them. */
#ifndef DINRAIL_C_PREFIX
#define DINRAIL_C_PREFIX dinrail0_
#endif

/* The version of this header: compare it with `dinrail_version()`. */
#define DINRAIL_VERSION 0x000100

#define DINRAIL_JOIN2_(a, b) a##b
#define DINRAIL_JOIN_(a, b) DINRAIL_JOIN2_(a, b)
#define DINRAIL_SYMBOL(name) DINRAIL_JOIN_(DINRAIL_C_PREFIX, name)

#define dinrail_version DINRAIL_SYMBOL(version)
#define dinrail_build DINRAIL_SYMBOL(build)
#define dinrail_error_text DINRAIL_SYMBOL(error_text)
#define dinrail_status_name DINRAIL_SYMBOL(status_name)
#define dinrail_backend_count DINRAIL_SYMBOL(backend_count)
#define dinrail_backend_at DINRAIL_SYMBOL(backend_at)
#define dinrail_backend_by_name DINRAIL_SYMBOL(backend_by_name)
#define dinrail_backend_name DINRAIL_SYMBOL(backend_name)
#define dinrail_backend_device_count DINRAIL_SYMBOL(backend_device_count)
#define dinrail_backend_device DINRAIL_SYMBOL(backend_device)
#define dinrail_device_count DINRAIL_SYMBOL(device_count)
#define dinrail_device_at DINRAIL_SYMBOL(device_at)
#define dinrail_device_by_name DINRAIL_SYMBOL(device_by_name)
#define dinrail_device_by_kind DINRAIL_SYMBOL(device_by_kind)
#define dinrail_device_best DINRAIL_SYMBOL(device_best)
#define dinrail_device_get_props DINRAIL_SYMBOL(device_get_props)
#define dinrail_device_buffer_type DINRAIL_SYMBOL(device_buffer_type)
#define dinrail_device_host_buffer_type DINRAIL_SYMBOL(device_host_buffer_type)
#define dinrail_device_extra_buffer_type DINRAIL_SYMBOL(device_extra_buffer_type)
#define dinrail_device_supports_buffer_type DINRAIL_SYMBOL(device_supports_buffer_type)
#define dinrail_buffer_type_get_props DINRAIL_SYMBOL(buffer_type_get_props)
#define dinrail_buffer_alloc DINRAIL_SYMBOL(buffer_alloc)
#define dinrail_buffer_lend DINRAIL_SYMBOL(buffer_lend)
#define dinrail_buffer_lend_const DINRAIL_SYMBOL(buffer_lend_const)
#define dinrail_buffer_close DINRAIL_SYMBOL(buffer_close)
#define dinrail_buffer_size DINRAIL_SYMBOL(buffer_size)
#define dinrail_buffer_data DINRAIL_SYMBOL(buffer_data)
#define dinrail_buffer_is_writable DINRAIL_SYMBOL(buffer_is_writable)
#define dinrail_buffer_set_usage DINRAIL_SYMBOL(buffer_set_usage)
#define dinrail_buffer_clear DINRAIL_SYMBOL(buffer_clear)
#define dinrail_buffer_write DINRAIL_SYMBOL(buffer_write)
#define dinrail_buffer_read DINRAIL_SYMBOL(buffer_read)
#define dinrail_graph_begin DINRAIL_SYMBOL(graph_begin)
#define dinrail_graph_finish DINRAIL_SYMBOL(graph_finish)
#define dinrail_graph_len DINRAIL_SYMBOL(graph_len)
#define dinrail_graph_desc DINRAIL_SYMBOL(graph_desc)
#define dinrail_graph_op DINRAIL_SYMBOL(graph_op)
#define dinrail_device_supports DINRAIL_SYMBOL(device_supports)
#define dinrail_graph_input DINRAIL_SYMBOL(graph_input)
#define dinrail_graph_leaf DINRAIL_SYMBOL(graph_leaf)
#define dinrail_graph_weight DINRAIL_SYMBOL(graph_weight)
#define dinrail_graph_output DINRAIL_SYMBOL(graph_output)
#define dinrail_dtype_name DINRAIL_SYMBOL(dtype_name)
#define dinrail_dtype_block_len DINRAIL_SYMBOL(dtype_block_len)
#define dinrail_dtype_block_bytes DINRAIL_SYMBOL(dtype_block_bytes)
#define dinrail_op_add DINRAIL_SYMBOL(op_add)
#define dinrail_op_sub DINRAIL_SYMBOL(op_sub)
#define dinrail_op_mul DINRAIL_SYMBOL(op_mul)
#define dinrail_op_div DINRAIL_SYMBOL(op_div)
#define dinrail_op_add1 DINRAIL_SYMBOL(op_add1)
#define dinrail_op_scale DINRAIL_SYMBOL(op_scale)
#define dinrail_op_clamp DINRAIL_SYMBOL(op_clamp)
#define dinrail_op_sqr DINRAIL_SYMBOL(op_sqr)
#define dinrail_op_sqrt DINRAIL_SYMBOL(op_sqrt)
#define dinrail_op_log DINRAIL_SYMBOL(op_log)
#define dinrail_op_sin DINRAIL_SYMBOL(op_sin)
#define dinrail_op_cos DINRAIL_SYMBOL(op_cos)
#define dinrail_op_relu DINRAIL_SYMBOL(op_relu)
#define dinrail_op_silu DINRAIL_SYMBOL(op_silu)
#define dinrail_op_gelu DINRAIL_SYMBOL(op_gelu)
#define dinrail_op_unary DINRAIL_SYMBOL(op_unary)
#define dinrail_op_xielu DINRAIL_SYMBOL(op_xielu)
#define dinrail_op_glu DINRAIL_SYMBOL(op_glu)
#define dinrail_op_swiglu_oai DINRAIL_SYMBOL(op_swiglu_oai)
#define dinrail_op_sum DINRAIL_SYMBOL(op_sum)
#define dinrail_op_sum_rows DINRAIL_SYMBOL(op_sum_rows)
#define dinrail_op_mean DINRAIL_SYMBOL(op_mean)
#define dinrail_op_argmax DINRAIL_SYMBOL(op_argmax)
#define dinrail_op_argsort DINRAIL_SYMBOL(op_argsort)
#define dinrail_op_norm DINRAIL_SYMBOL(op_norm)
#define dinrail_op_rms_norm DINRAIL_SYMBOL(op_rms_norm)
#define dinrail_op_group_norm DINRAIL_SYMBOL(op_group_norm)
#define dinrail_op_l2_norm DINRAIL_SYMBOL(op_l2_norm)
#define dinrail_op_mul_mat DINRAIL_SYMBOL(op_mul_mat)
#define dinrail_op_get_rows DINRAIL_SYMBOL(op_get_rows)
#define dinrail_op_set_rows DINRAIL_SYMBOL(op_set_rows)
#define dinrail_op_cpy DINRAIL_SYMBOL(op_cpy)
#define dinrail_op_cont DINRAIL_SYMBOL(op_cont)
#define dinrail_op_dup DINRAIL_SYMBOL(op_dup)
#define dinrail_op_reshape DINRAIL_SYMBOL(op_reshape)
#define dinrail_op_view DINRAIL_SYMBOL(op_view)
#define dinrail_op_permute DINRAIL_SYMBOL(op_permute)
#define dinrail_op_transpose DINRAIL_SYMBOL(op_transpose)
#define dinrail_op_repeat DINRAIL_SYMBOL(op_repeat)
#define dinrail_op_concat DINRAIL_SYMBOL(op_concat)
#define dinrail_op_acc DINRAIL_SYMBOL(op_acc)
#define dinrail_op_set DINRAIL_SYMBOL(op_set)
#define dinrail_op_diag_mask_inf DINRAIL_SYMBOL(op_diag_mask_inf)
#define dinrail_op_soft_max DINRAIL_SYMBOL(op_soft_max)
#define dinrail_op_rope DINRAIL_SYMBOL(op_rope)
#define dinrail_op_flash_attn DINRAIL_SYMBOL(op_flash_attn)
#define dinrail_op_arange DINRAIL_SYMBOL(op_arange)
#define dinrail_plan_make DINRAIL_SYMBOL(plan_make)
#define dinrail_plan_get_summary DINRAIL_SYMBOL(plan_get_summary)
#define dinrail_plan_arena DINRAIL_SYMBOL(plan_arena)
#define dinrail_program_make DINRAIL_SYMBOL(program_make)
#define dinrail_program_set DINRAIL_SYMBOL(program_set)
#define dinrail_program_get DINRAIL_SYMBOL(program_get)
#define dinrail_program_set_rows DINRAIL_SYMBOL(program_set_rows)
#define dinrail_program_get_rows DINRAIL_SYMBOL(program_get_rows)
#define dinrail_program_data DINRAIL_SYMBOL(program_data)
#define dinrail_stream_open DINRAIL_SYMBOL(stream_open)
#define dinrail_stream_close DINRAIL_SYMBOL(stream_close)
#define dinrail_stream_device DINRAIL_SYMBOL(stream_device)
#define dinrail_stream_scratch DINRAIL_SYMBOL(stream_scratch)
#define dinrail_stream_compute DINRAIL_SYMBOL(stream_compute)
#define dinrail_stream_wait DINRAIL_SYMBOL(stream_wait)
#define dinrail_run_begin DINRAIL_SYMBOL(run_begin)
#define dinrail_run_poll DINRAIL_SYMBOL(run_poll)
#define dinrail_run_wait DINRAIL_SYMBOL(run_wait)
#define dinrail_prepared_open DINRAIL_SYMBOL(prepared_open)
#define dinrail_prepared_compute DINRAIL_SYMBOL(prepared_compute)
#define dinrail_prepared_close DINRAIL_SYMBOL(prepared_close)
#define dinrail_event_open DINRAIL_SYMBOL(event_open)
#define dinrail_event_close DINRAIL_SYMBOL(event_close)
#define dinrail_event_wait DINRAIL_SYMBOL(event_wait)
#define dinrail_stream_record DINRAIL_SYMBOL(stream_record)
#define dinrail_stream_wait_event DINRAIL_SYMBOL(stream_wait_event)
#define dinrail_stream_set DINRAIL_SYMBOL(stream_set)
#define dinrail_stream_get DINRAIL_SYMBOL(stream_get)
#define dinrail_stream_copy DINRAIL_SYMBOL(stream_copy)
#define dinrail_gguf_open DINRAIL_SYMBOL(gguf_open)
#define dinrail_gguf_tensor_count DINRAIL_SYMBOL(gguf_tensor_count)
#define dinrail_gguf_tensor_at DINRAIL_SYMBOL(gguf_tensor_at)
#define dinrail_gguf_find_tensor DINRAIL_SYMBOL(gguf_find_tensor)
#define dinrail_gguf_key_count DINRAIL_SYMBOL(gguf_key_count)
#define dinrail_gguf_key_at DINRAIL_SYMBOL(gguf_key_at)
#define dinrail_gguf_find_value DINRAIL_SYMBOL(gguf_find_value)
#define dinrail_gguf_find_element DINRAIL_SYMBOL(gguf_find_element)
#define dinrail_backend_register DINRAIL_SYMBOL(backend_register)
#define dinrail_backend_unregister DINRAIL_SYMBOL(backend_unregister)
#define dinrail_backend_load DINRAIL_SYMBOL(backend_load)
#define dinrail_backend_load_all DINRAIL_SYMBOL(backend_load_all)
#define dinrail_log_to DINRAIL_SYMBOL(log_to)
#define dinrail_file_map DINRAIL_SYMBOL(file_map)
#define dinrail_file_data DINRAIL_SYMBOL(file_data)
#define dinrail_file_close DINRAIL_SYMBOL(file_close)

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Text
 * ====
 *
 * Strings that the library gives are pieces of memory with a length, without a 0 at the end: they may lie in the middle of
 * a model file. `printf("%.*s", DINRAIL_TEXT(s))` prints one. Strings that the library takes end with a 0. All text is UTF-8.
 */

// A string that is not the caller's to change or free.
typedef struct dinrail_str {
    // The first byte; not NULL where `size` isn't 0.
    const char *data;
    // Number of bytes.
    size_t size;
} dinrail_str;

/*
 * Version
 * =======
 *
 * Every exported name begins with `dinrail0_`, where 0 is the version of this interface; the macros at the top of the
 * header let programs write `dinrail_`. Libraries of different versions can be linked into one program.
 */

// The library's version: 0x010203 is 1.2.3. Compare it with `DINRAIL_VERSION`, the header's.
//
// Threads: any, and interrupts.
uint32_t dinrail_version(void);

// The library's version and what was compiled in, such as "0.1.0 std cpu".
//
// Threads: any, and interrupts.
dinrail_str dinrail_build(void);

/*
 * Errors
 * ======
 *
 * Functions that can fail return a status, 0 when all went well, and fill a `dinrail_error` if they are given one. The
 * error carries the numbers that a program needs; `dinrail_error_text` makes a sentence of it.
 */

// All went well.
#define DINRAIL_OK 0

// A fixed capacity is used up. Numbers: needed, there.
#define DINRAIL_ERROR_FULL 1

// Memory could not be had. Numbers: bytes asked for, bytes left (-1: not known).
#define DINRAIL_ERROR_OUT_OF_MEMORY 2

// A size, a block or an alignment that can't be.
#define DINRAIL_ERROR_SIZE 3

// A node whose sources don't fit its operation. Numbers: node.
#define DINRAIL_ERROR_NODE 4

// The device has no kernel for a node. Numbers: node (-1: none).
#define DINRAIL_ERROR_UNSUPPORTED 5

// The device, or this build of the library, lacks an optional function.
#define DINRAIL_ERROR_NOT_OFFERED 6

// Bytes outside of what is there. Numbers: first byte asked for, number of bytes, bytes that are there.
#define DINRAIL_ERROR_RANGE 7

// A node lives in a slot that nothing is bound to. Numbers: node, slot.
#define DINRAIL_ERROR_UNBOUND 8

// Memory at an address that doesn't suit it. Numbers: address, what it must be a multiple of.
#define DINRAIL_ERROR_MISALIGNED 9

// A write to memory that may only be read.
#define DINRAIL_ERROR_READ_ONLY 10

// The host can't reach this memory.
#define DINRAIL_ERROR_NOT_HOST 11

// A plan that was made for another graph. Numbers: nodes in the graph, nodes in the plan.
#define DINRAIL_ERROR_MISMATCH 12

// An event, buffer or stream of another device.
#define DINRAIL_ERROR_FOREIGN 13

// A different backend has this name.
#define DINRAIL_ERROR_NAME_TAKEN 14

// Nothing answers to this name, kind or number.
#define DINRAIL_ERROR_NOT_FOUND 15

// The backend was unloaded; or what a plan, program or run was made of is no longer what it was then.
#define DINRAIL_ERROR_STALE 16

// The backend is in use. Numbers: streams, buffers, events.
#define DINRAIL_ERROR_IN_USE 17

// A compiled-in backend can't be unloaded.
#define DINRAIL_ERROR_BUILT_IN 18

// The registry is being changed elsewhere: try again.
#define DINRAIL_ERROR_BUSY 19

// A value that the function can't take. Numbers: the value.
#define DINRAIL_ERROR_INVALID 20

// The device failed. Numbers: its own code.
#define DINRAIL_ERROR_DEVICE 21

// Stopped on request.
#define DINRAIL_ERROR_CANCELLED 22

// A pointer is NULL that must not be.
#define DINRAIL_ERROR_NULL 64

// An object that was never opened, is closed, or was copied from elsewhere.
#define DINRAIL_ERROR_NOT_OPEN 65

// An object that is open already, and would be lost.
#define DINRAIL_ERROR_ALREADY_OPEN 66

// A string that is not UTF-8.
#define DINRAIL_ERROR_NOT_UTF8 67

// A graph that is not finished yet, or is finished already.
#define DINRAIL_ERROR_UNFINISHED 68

// The operating system said no. Numbers: its code.
#define DINRAIL_ERROR_SYSTEM 69

// A backend could not be loaded.
#define DINRAIL_ERROR_LOAD 70

// A GGUF file is damaged or of a kind that can't be read. Numbers: where in the file, and what stands there.
#define DINRAIL_ERROR_GGUF 80

// A file needs more scratch memory to be checked. Numbers: words that are enough.
#define DINRAIL_ERROR_GGUF_SCRATCH 81

// A mistake of dinrail's own, caught before it could reach the program. Please report it.
#define DINRAIL_ERROR_INTERNAL 99

// 0, or what kind of error it is.
typedef int32_t dinrail_status;

// What went wrong. Copy it as you like.
typedef struct dinrail_error {
    // The same number that the function returned.
    dinrail_status code;
    // Whether the library filled this.
    uint32_t mark_;
    // What the code's description says; 0 where it says nothing.
    int64_t numbers[3];
    // For `dinrail_error_text`.
    uint64_t fault_[8];
} dinrail_error;

// Writes one line for people that says what went wrong, where, and what to do; ends it with a 0, and cuts it off (between
// characters) where `size` bytes are not enough. Returns the length of the whole line without the 0. A program that
// doesn't call this has no code for formatting in it.
//
// Threads: any.
//
// To be seen to by the caller:
// `text` is NULL or has room for `size` bytes.
size_t dinrail_error_text(const dinrail_error *error,
                          char *text,
                          size_t size);

// The name of a status, such as "DINRAIL_ERROR_FULL"; never NULL.
//
// Threads: any, and interrupts.
const char *dinrail_status_name(dinrail_status status);

/*
 * Backends and devices
 * ====================
 *
 * The library has a table of backends. Those that were compiled in are there from the start, accelerators first; nothing
 * has to be called for that, and no linker option is needed. A backend, a device and a kind of memory are small values:
 * copy them as you like; they are valid for the life of the program, and are told apart by their names. One of all zeros
 * stands for none.
 */

// The host's own processor and memory.
#define DINRAIL_DEVICE_CPU 0

// A graphics processor with memory of its own.
#define DINRAIL_DEVICE_GPU 1

// A graphics processor that uses the host's memory.
#define DINRAIL_DEVICE_IGPU 2

// Something to be used together with the CPU.
#define DINRAIL_DEVICE_ACCEL 3

// Several devices that act as one.
#define DINRAIL_DEVICE_META 4

// A kind that is younger than this header.
#define DINRAIL_DEVICE_OTHER 255

// Transfers and graphs are queued, and run while the host goes on.
#define DINRAIL_CAP_ASYNC 1

// There is host memory from which transfers are fast.
#define DINRAIL_CAP_HOST_BUFFER 2

// Buffers can be made of memory that the host lends.
#define DINRAIL_CAP_BUFFER_FROM_HOST 4

// There are events.
#define DINRAIL_CAP_EVENTS 8

// A backend: the devices that one part of the library drives.
typedef struct dinrail_backend {
    const void *words_[2];
} dinrail_backend;

// A processor.
typedef struct dinrail_device {
    const void *words_[2];
} dinrail_device;

// What kind of processor a device is.
typedef uint32_t dinrail_device_kind;

// What a device is.
typedef struct dinrail_device_props {
    // Short name, unique in the table, such as "CPU".
    dinrail_str name;
    // A name for people, such as the model of the processor.
    dinrail_str description;
    // Instruction level or architecture of its kernels, such as "avx2".
    dinrail_str level;
    // Identity of the hardware (PCI address), the same in all backends; empty where there is none.
    dinrail_str id;
    // One of DINRAIL_DEVICE_*.
    dinrail_device_kind kind;
    // Sum of DINRAIL_CAP_*.
    uint32_t caps;
    // Bytes that are free at this moment; 0 where unknown.
    uint64_t memory_free;
    // Bytes in all; 0 where unknown.
    uint64_t memory_total;
} dinrail_device_props;

// A kind of memory.
typedef struct dinrail_buffer_type {
    const void *words_[2];
} dinrail_buffer_type;

// What a kind of memory is.
typedef struct dinrail_buffer_type_props {
    // Short name.
    dinrail_str name;
    // What offsets of tensors must be multiples of, in bytes.
    size_t alignment;
    // Bytes of the largest buffer.
    size_t max_size;
    // Whether it is host memory in the standard layout.
    bool is_host;
    // Whether tensors are stored in another order, so that they are written whole.
    bool is_repacked;
} dinrail_buffer_type_props;

// How many backends there are.
//
// Threads: any, and interrupts.
size_t dinrail_backend_count(void);

// Backend `index` of the table, counted from 0.
//
// Threads: any, and interrupts.
dinrail_status dinrail_backend_at(size_t index, dinrail_backend *out, dinrail_error *error);

// The backend of this name; capitals don't matter.
//
// Threads: any, and interrupts.
//
// To be seen to by the caller:
// `name` is NULL or a string.
dinrail_status dinrail_backend_by_name(const char *name, dinrail_backend *out, dinrail_error *error);

// A backend's name, such as "CPU"; empty for none.
//
// Threads: any, and interrupts.
dinrail_str dinrail_backend_name(dinrail_backend backend);

// How many devices a backend has.
//
// Threads: any, and interrupts.
size_t dinrail_backend_device_count(dinrail_backend backend);

// Device `index` of a backend, counted from 0. DINRAIL_ERROR_NOT_FOUND also for a device that is there but can't be used.
//
// Threads: any, and interrupts.
dinrail_status dinrail_backend_device(dinrail_backend backend,
                                      size_t index,
                                      dinrail_device *out,
                                      dinrail_error *error);

// How many devices all backends have together.
//
// Threads: any, and interrupts.
size_t dinrail_device_count(void);

// Device `index` of all, counted from 0.
//
// Threads: any, and interrupts.
dinrail_status dinrail_device_at(size_t index, dinrail_device *out, dinrail_error *error);

// The device of this name; capitals don't matter.
//
// Threads: any, and interrupts.
//
// To be seen to by the caller:
// `name` is NULL or a string.
dinrail_status dinrail_device_by_name(const char *name, dinrail_device *out, dinrail_error *error);

// The first device of this kind.
//
// Threads: any, and interrupts.
dinrail_status dinrail_device_by_kind(dinrail_device_kind kind, dinrail_device *out, dinrail_error *error);

// The device to use when nobody says which: the first GPU, else the first integrated one, else the first CPU.
//
// Threads: any, and interrupts.
dinrail_status dinrail_device_best(dinrail_device *out, dinrail_error *error);

// What a device is. Its text lives as long as the program.
//
// Threads: any.
dinrail_status dinrail_device_get_props(dinrail_device device,
                                        dinrail_device_props *out,
                                        dinrail_error *error);

// The kind of memory that a device computes in; none for no device.
//
// Threads: any.
dinrail_buffer_type dinrail_device_buffer_type(dinrail_device device);

// Host memory from which transfers to a device are fast; none where there is no such thing.
//
// Threads: any.
dinrail_buffer_type dinrail_device_host_buffer_type(dinrail_device device);

// Another kind of memory that a device can compute in (weights in another order), best first; none past the last.
//
// Threads: any.
dinrail_buffer_type dinrail_device_extra_buffer_type(dinrail_device device, size_t index);

// Whether a device can compute in this kind of memory.
//
// Threads: any.
bool dinrail_device_supports_buffer_type(dinrail_device device, dinrail_buffer_type buffer_type);

// What a kind of memory is. Its name lives as long as the program.
//
// Threads: any.
dinrail_status dinrail_buffer_type_get_props(dinrail_buffer_type buffer_type,
                                             dinrail_buffer_type_props *out,
                                             dinrail_error *error);

/*
 * Buffers
 * =======
 *
 * A buffer is a piece of memory of one kind: taken from a device, or lent by the program (a static arena, a model in
 * flash or in a mapped file). The object `dinrail_buffer` itself lies in the caller's memory; fill it with zeros before its first
 * use (`dinrail_buffer b = {0};`), don't copy or move it while it is open, and close it.
 */

// Anything.
#define DINRAIL_USAGE_ANY 0

// Weights: written once, read often.
#define DINRAIL_USAGE_WEIGHTS 1

// Intermediate results.
#define DINRAIL_USAGE_COMPUTE 2

// A piece of memory. Used by one thread at a time.
typedef struct dinrail_buffer {
    size_t words_[8];
} dinrail_buffer;

// What a buffer is used for.
typedef uint32_t dinrail_usage;

// Takes `size` bytes of a kind of memory. DINRAIL_ERROR_OUT_OF_MEMORY where the kind has no heap, as on most
// microcontrollers: lend memory there.
//
// Threads: any; not from an interrupt.
dinrail_status dinrail_buffer_alloc(dinrail_buffer *buffer,
                                    dinrail_buffer_type buffer_type,
                                    size_t size,
                                    dinrail_error *error);

// A buffer of the program's own memory, to be read and written, for a device that computes in host memory. Tensors in it
// are aligned from its first byte on: align that to 64 bytes (8 on small cores), or to what the plan says.
//
// Threads: any.
//
// To be seen to by the caller:
// `data` has `size` bytes, which live and are used through this buffer only until it is closed.
dinrail_status dinrail_buffer_lend(dinrail_buffer *buffer,
                                   dinrail_device device,
                                   void *data,
                                   size_t size,
                                   dinrail_error *error);

// A buffer of memory that may only be read: a model in flash, or in a mapped file. `max_tensor` is the size of the largest
// tensor in it, or 0.
//
// Threads: any.
//
// To be seen to by the caller:
// `data` has `size` bytes, which live and don't change until the buffer is closed.
dinrail_status dinrail_buffer_lend_const(dinrail_buffer *buffer,
                                         dinrail_device device,
                                         const void *data,
                                         size_t size,
                                         size_t max_tensor,
                                         dinrail_error *error);

// Gives a buffer back. No program that uses it may be computing. NULL and a buffer that isn't open are no errors.
//
// Threads: any; not from an interrupt.
void dinrail_buffer_close(dinrail_buffer *buffer);

// Number of bytes; 0 for one that isn't open.
//
// Threads: the buffer's.
size_t dinrail_buffer_size(const dinrail_buffer *buffer);

// First byte, where there is one and the host can reach it; else NULL.
//
// Threads: the buffer's.
void *dinrail_buffer_data(const dinrail_buffer *buffer);

// Whether a buffer may be written.
//
// Threads: the buffer's.
bool dinrail_buffer_is_writable(const dinrail_buffer *buffer);

// Says what a buffer is used for: one of DINRAIL_USAGE_*.
//
// Threads: the buffer's.
dinrail_status dinrail_buffer_set_usage(const dinrail_buffer *buffer, dinrail_usage usage, dinrail_error *error);

// Fills a whole buffer with a byte.
//
// Threads: the buffer's.
dinrail_status dinrail_buffer_clear(const dinrail_buffer *buffer, uint8_t value, dinrail_error *error);

// Copies `size` bytes to byte `offset` of a buffer. Done on return. The two don't overlap.
//
// Threads: the buffer's.
//
// To be seen to by the caller:
// `data` has `size` bytes.
dinrail_status dinrail_buffer_write(const dinrail_buffer *buffer,
                                    size_t offset,
                                    const void *data,
                                    size_t size,
                                    dinrail_error *error);

// Copies `size` bytes from byte `offset` of a buffer. Done on return.
//
// Threads: the buffer's.
//
// To be seen to by the caller:
// `data` has room for `size` bytes.
dinrail_status dinrail_buffer_read(const dinrail_buffer *buffer,
                                   size_t offset,
                                   void *data,
                                   size_t size,
                                   dinrail_error *error);

/*
 * Graphs
 * ======
 *
 * A graph is built in memory of the caller's: an array of `dinrail_node`, one for each node.
 *
 * static dinrail_node nodes[8];
 * dinrail_graph graph = {0};
 * dinrail_graph_begin(&graph, nodes, 8, NULL);
 * dinrail_id x = dinrail_graph_input(&graph, DINRAIL_F32, 4, 1, 1, 1);
 * dinrail_id y = dinrail_op_silu(&graph, x);
 * dinrail_graph_output(&graph, y);
 * if (dinrail_graph_finish(&graph, &error)) ...
 *
 * Building needs no error handling: the first mistake is remembered, every later call returns `DINRAIL_NONE`, and
 * `dinrail_graph_finish` tells. Operations mean what those of the same name mean in ggml; lengths are innermost first.
 * A graph is used by one thread while it is built, and by any number afterwards. It needs no closing.
 */

// No node: an optional source that is left out, or what a call returns after a mistake.
#define DINRAIL_NONE 4294967295

// IEEE 754 binary32.
#define DINRAIL_F32 0

// IEEE 754 binary16.
#define DINRAIL_F16 1

// 4 bits, symmetric: one scale for 32 elements. 4.5 bits per element.
#define DINRAIL_Q4_0 2

// 4 bits, scale and minimum for 32 elements. 5 bits per element.
#define DINRAIL_Q4_1 3

// 5 bits, symmetric: one scale for 32 elements. 5.5 bits per element.
#define DINRAIL_Q5_0 6

// 5 bits, scale and minimum for 32 elements. 6 bits per element.
#define DINRAIL_Q5_1 7

// 8 bits, symmetric: one scale for 32 elements. 8.5 bits per element.
#define DINRAIL_Q8_0 8

// 8 bits, one scale and the scaled sum for 32 elements: the activation side of a dot product.
#define DINRAIL_Q8_1 9

// 2 bits, 4-bit scales and minimums for each 16 of 256 elements. 2.625 bits per element.
#define DINRAIL_Q2_K 10

// 3 bits, 6-bit scales for each 16 of 256 elements. 3.4375 bits per element.
#define DINRAIL_Q3_K 11

// 4 bits, 6-bit scales and minimums for each 32 of 256 elements. 4.5 bits per element.
#define DINRAIL_Q4_K 12

// 5 bits, 6-bit scales and minimums for each 32 of 256 elements. 5.5 bits per element.
#define DINRAIL_Q5_K 13

// 6 bits, 8-bit scales for each 16 of 256 elements. 6.5625 bits per element.
#define DINRAIL_Q6_K 14

// 8 bits, an `f32` scale and sums of each 16 of 256 elements: the activation side of a dot product.
#define DINRAIL_Q8_K 15

// 4 bits into a table of unevenly spaced values, one scale for 32 elements. 4.5 bits per element.
#define DINRAIL_IQ4_NL 20

// As `DINRAIL_IQ4_NL`, with 6-bit scales for each 32 of 256 elements. 4.25 bits per element.
#define DINRAIL_IQ4_XS 23

// Signed 8-bit integer.
#define DINRAIL_I8 24

// Signed 16-bit integer.
#define DINRAIL_I16 25

// Signed 32-bit integer.
#define DINRAIL_I32 26

// Signed 64-bit integer.
#define DINRAIL_I64 27

// IEEE 754 binary64.
#define DINRAIL_F64 28

// The upper half of a binary32.
#define DINRAIL_BF16 30

// Ternary, five elements to the byte, one scale for 256 elements. 1.6875 bits per element.
#define DINRAIL_TQ1_0 34

// Ternary, four elements to the byte, one scale for 256 elements. 2.0625 bits per element.
#define DINRAIL_TQ2_0 35

// 4-bit floats (E2M1) with a shared power of two for 32 elements. 4.25 bits per element.
#define DINRAIL_MXFP4 39

// A graph that is being built, or is finished.
typedef struct dinrail_graph {
    uint64_t wide_[6];
    size_t words_[6];
} dinrail_graph;

// Memory for one node. Its contents are the library's.
typedef struct dinrail_node {
    uint64_t wide_[8];
    size_t words_[14];
} dinrail_node;

// Number of a node in its graph.
typedef uint32_t dinrail_id;

// Type of a tensor's elements, with ggml's numbers.
typedef uint32_t dinrail_dtype;

// Type, lengths and strides of a tensor.
typedef struct dinrail_desc {
    // Type of the elements.
    dinrail_dtype dtype;
    // Bytes from the first to the last element, gaps included.
    size_t bytes;
    // Lengths, innermost first; 1 where there is no such dimension.
    size_t ne[4];
    // Strides in bytes; `nb[0]` is the distance of blocks.
    size_t nb[4];
} dinrail_desc;

// Starts a graph of up to `count` nodes (at most 65534). What the object held before is forgotten.
//
// Threads: the graph's.
//
// To be seen to by the caller:
// `nodes` has `count` entries, which live, and are used by nobody else, as long as the graph or what was made of it is
// used.
dinrail_status dinrail_graph_begin(dinrail_graph *graph,
                                   dinrail_node *nodes,
                                   size_t count,
                                   dinrail_error *error);

// Ends building. Tells the first mistake if there was one.
//
// Threads: the graph's.
dinrail_status dinrail_graph_finish(dinrail_graph *graph, dinrail_error *error);

// Number of nodes so far; 0 after a mistake.
//
// Threads: the graph's.
size_t dinrail_graph_len(const dinrail_graph *graph);

// Type, lengths and strides of a node, also while the graph is built.
//
// Threads: the graph's.
dinrail_status dinrail_graph_desc(const dinrail_graph *graph,
                                  dinrail_id node,
                                  dinrail_desc *out,
                                  dinrail_error *error);

// The name of a node's operation, as ggml has it, such as "MUL_MAT"; functions of one element and gated
// units by their own, such as "SILU". Empty for no node.
//
// Threads: the graph's.
dinrail_str dinrail_graph_op(const dinrail_graph *graph, dinrail_id node);

// Whether a device has a kernel for a node of a finished graph. `true` is a promise.
//
// Threads: any.
bool dinrail_device_supports(dinrail_device device, const dinrail_graph *graph, dinrail_id node);

// A leaf that the caller fills before each run, placed in the arena. Its memory may be used again after the last node that
// reads it, so fill it anew before the next run.
//
// Threads: the graph's.
dinrail_id dinrail_graph_input(dinrail_graph *graph,
                               dinrail_dtype dtype,
                               size_t ne0,
                               size_t ne1,
                               size_t ne2,
                               size_t ne3);

// A leaf at byte `offset` of what is bound to a slot (1 to 199): a cache, or an input in memory of the caller's own.
//
// Threads: the graph's.
dinrail_id dinrail_graph_leaf(dinrail_graph *graph,
                              dinrail_dtype dtype,
                              size_t ne0,
                              size_t ne1,
                              size_t ne2,
                              size_t ne3,
                              uint32_t slot,
                              size_t offset);

// A leaf as `dinrail_graph_leaf` makes it, marked as weights.
//
// Threads: the graph's.
dinrail_id dinrail_graph_weight(dinrail_graph *graph,
                                dinrail_dtype dtype,
                                size_t ne0,
                                size_t ne1,
                                size_t ne2,
                                size_t ne3,
                                uint32_t slot,
                                size_t offset);

// Marks a node's data to be read after the run: its memory is not used again.
//
// Threads: the graph's.
void dinrail_graph_output(dinrail_graph *graph, dinrail_id node);

// The name of an element type, such as "q4_0"; empty for a number that no type has.
//
// Threads: any, and interrupts.
dinrail_str dinrail_dtype_name(dinrail_dtype dtype);

// Elements of a block, of which a row is a whole number; 1 for types without blocks, 0 for no type.
//
// Threads: any, and interrupts.
size_t dinrail_dtype_block_len(dinrail_dtype dtype);

// Bytes of a block; 0 for no type.
//
// Threads: any, and interrupts.
size_t dinrail_dtype_block_bytes(dinrail_dtype dtype);

/*
 * Parameters of operations
 * ========================
 *
 * What the functions of the next chapter take beside nodes.
 */

// |x|
#define DINRAIL_UNARY_ABS 0

// -1, 0 or 1.
#define DINRAIL_UNARY_SGN 1

// -x
#define DINRAIL_UNARY_NEG 2

// 1 where x > 0, else 0.
#define DINRAIL_UNARY_STEP 3

// tanh(x)
#define DINRAIL_UNARY_TANH 4

// x where x > 0, else exp(x) - 1.
#define DINRAIL_UNARY_ELU 5

// max(x, 0)
#define DINRAIL_UNARY_RELU 6

// 1 / (1 + exp(-x))
#define DINRAIL_UNARY_SIGMOID 7

// GELU, tanh approximation.
#define DINRAIL_UNARY_GELU 8

// x * sigmoid(1.702 x)
#define DINRAIL_UNARY_GELU_QUICK 9

// x * sigmoid(x)
#define DINRAIL_UNARY_SILU 10

// x * min(1, max(0, (x + 3) / 6))
#define DINRAIL_UNARY_HARDSWISH 11

// min(1, max(0, (x + 3) / 6))
#define DINRAIL_UNARY_HARDSIGMOID 12

// exp(x)
#define DINRAIL_UNARY_EXP 13

// exp(x) - 1
#define DINRAIL_UNARY_EXPM1 14

// log(1 + exp(x))
#define DINRAIL_UNARY_SOFTPLUS 15

// GELU, exact.
#define DINRAIL_UNARY_GELU_ERF 16

// Rounded down.
#define DINRAIL_UNARY_FLOOR 17

// Rounded up.
#define DINRAIL_UNARY_CEIL 18

// Rounded, halves away from zero.
#define DINRAIL_UNARY_ROUND 19

// Rounded towards zero.
#define DINRAIL_UNARY_TRUNC 20

// max(x, 0)
#define DINRAIL_GLU_REGLU 0

// GELU, tanh approximation.
#define DINRAIL_GLU_GEGLU 1

// x * sigmoid(x)
#define DINRAIL_GLU_SWIGLU 2

// GELU, exact.
#define DINRAIL_GLU_GEGLU_ERF 3

// x * sigmoid(1.702 x)
#define DINRAIL_GLU_GEGLU_QUICK 4

// Neighbours are rotated together: (0, 1), (2, 3) and so on.
#define DINRAIL_ROPE_NORMAL 0

// Halves are rotated together: (0, n/2), (1, n/2 + 1) and so on.
#define DINRAIL_ROPE_NEOX 2

// A function of one element.
typedef uint32_t dinrail_unary;

// The function in a gated unit.
typedef uint32_t dinrail_glu;

// Parameters of the rotary embedding (with YaRN where `ext_factor` isn't 0). Start from `DINRAIL_ROPE_INIT`.
typedef struct dinrail_rope {
    // Elements of each row that are rotated (at most 65535); the rest is copied.
    uint32_t dims;
    // One of DINRAIL_ROPE_*.
    uint32_t mode;
    // Context length that the model was trained with (YaRN).
    uint32_t trained_context;
    // Base of the frequencies, such as 10000.
    float base;
    // Factor on positions.
    float scale;
    // YaRN: share of extrapolation, 0 for none.
    float ext_factor;
    // Factor on the rotated values' magnitude.
    float attn_factor;
    // YaRN: number of rotations above which a dimension is only extrapolated.
    float beta_fast;
    // YaRN: number of rotations below which a dimension is only interpolated.
    float beta_slow;
} dinrail_rope;

/*
 * Operations
 * ==========
 *
 * One function for each; each lays down a node and returns its number. The result's type and lengths follow from the
 * sources. `dinrail_device_supports` tells whether a device has a kernel for it.
 */

// `a + b`, b repeated to a's lengths.
//
// Threads: the graph's.
dinrail_id dinrail_op_add(dinrail_graph *graph, dinrail_id a, dinrail_id b);

// `a - b`, b repeated to a's lengths.
//
// Threads: the graph's.
dinrail_id dinrail_op_sub(dinrail_graph *graph, dinrail_id a, dinrail_id b);

// `a * b`, element by element, b repeated to a's lengths.
//
// Threads: the graph's.
dinrail_id dinrail_op_mul(dinrail_graph *graph, dinrail_id a, dinrail_id b);

// `a / b`, b repeated to a's lengths.
//
// Threads: the graph's.
dinrail_id dinrail_op_div(dinrail_graph *graph, dinrail_id a, dinrail_id b);

// `a + b`, b a single element.
//
// Threads: the graph's.
dinrail_id dinrail_op_add1(dinrail_graph *graph, dinrail_id a, dinrail_id b);

// `a * scale + bias`.
//
// Threads: the graph's.
dinrail_id dinrail_op_scale(dinrail_graph *graph, dinrail_id a, float scale, float bias);

// Each element limited to `min` to `max`.
//
// Threads: the graph's.
dinrail_id dinrail_op_clamp(dinrail_graph *graph, dinrail_id a, float min, float max);

// Squares.
//
// Threads: the graph's.
dinrail_id dinrail_op_sqr(dinrail_graph *graph, dinrail_id a);

// Square roots.
//
// Threads: the graph's.
dinrail_id dinrail_op_sqrt(dinrail_graph *graph, dinrail_id a);

// Natural logarithms.
//
// Threads: the graph's.
dinrail_id dinrail_op_log(dinrail_graph *graph, dinrail_id a);

// Sines.
//
// Threads: the graph's.
dinrail_id dinrail_op_sin(dinrail_graph *graph, dinrail_id a);

// Cosines.
//
// Threads: the graph's.
dinrail_id dinrail_op_cos(dinrail_graph *graph, dinrail_id a);

// `max(x, 0)`; short for `dinrail_op_unary`.
//
// Threads: the graph's.
dinrail_id dinrail_op_relu(dinrail_graph *graph, dinrail_id a);

// `x * sigmoid(x)`; short for `dinrail_op_unary`.
//
// Threads: the graph's.
dinrail_id dinrail_op_silu(dinrail_graph *graph, dinrail_id a);

// GELU, tanh approximation; short for `dinrail_op_unary`.
//
// Threads: the graph's.
dinrail_id dinrail_op_gelu(dinrail_graph *graph, dinrail_id a);

// A function of one element: one of DINRAIL_UNARY_*.
//
// Threads: the graph's.
dinrail_id dinrail_op_unary(dinrail_graph *graph, dinrail_id a, dinrail_unary function);

// xIELU with its parameters as the kernels take them.
//
// Threads: the graph's.
dinrail_id dinrail_op_xielu(dinrail_graph *graph, dinrail_id a, float alpha_n, float alpha_p, float beta, float eps);

// A gated unit: `f(a) * gate`, f by one of DINRAIL_GLU_*. With DINRAIL_NONE for the gate the halves of a's rows are the two, the other way round if `swapped`.
//
// Threads: the graph's.
dinrail_id dinrail_op_glu(dinrail_graph *graph,
                          dinrail_id a,
                          dinrail_id gate,
                          dinrail_glu function,
                          bool swapped);

// The gated unit of OpenAI's open models: alpha and limit are its parameters. Otherwise as `dinrail_op_glu`.
//
// Threads: the graph's.
dinrail_id dinrail_op_swiglu_oai(dinrail_graph *graph,
                                 dinrail_id a,
                                 dinrail_id gate,
                                 float alpha,
                                 float limit,
                                 bool swapped);

// The sum of all elements.
//
// Threads: the graph's.
dinrail_id dinrail_op_sum(dinrail_graph *graph, dinrail_id a);

// The sum of each row.
//
// Threads: the graph's.
dinrail_id dinrail_op_sum_rows(dinrail_graph *graph, dinrail_id a);

// The mean of each row.
//
// Threads: the graph's.
dinrail_id dinrail_op_mean(dinrail_graph *graph, dinrail_id a);

// The number of each row's largest element, as I32.
//
// Threads: the graph's.
dinrail_id dinrail_op_argmax(dinrail_graph *graph, dinrail_id a);

// Numbers that sort each row, as I32.
//
// Threads: the graph's.
dinrail_id dinrail_op_argsort(dinrail_graph *graph, dinrail_id a, bool descending);

// Rows minus mean, over `sqrt(variance + eps)`.
//
// Threads: the graph's.
dinrail_id dinrail_op_norm(dinrail_graph *graph, dinrail_id a, float eps);

// Rows over `sqrt(mean of squares + eps)`.
//
// Threads: the graph's.
dinrail_id dinrail_op_rms_norm(dinrail_graph *graph, dinrail_id a, float eps);

// Norm over groups of channels (dimension 2).
//
// Threads: the graph's.
dinrail_id dinrail_op_group_norm(dinrail_graph *graph, dinrail_id a, uint32_t groups, float eps);

// Rows over `max(length, eps)`.
//
// Threads: the graph's.
dinrail_id dinrail_op_l2_norm(dinrail_graph *graph, dinrail_id a, float eps);

// The product: `a [k, n]` and `b [k, m]` give `[n, m]`, a repeated over b's dimensions 2 and 3. With `exact`, it is accumulated in f32.
//
// Threads: the graph's.
dinrail_id dinrail_op_mul_mat(dinrail_graph *graph,
                              dinrail_id a,
                              dinrail_id b,
                              bool exact);

// Rows of `a` at the numbers `b` (I32), as F32.
//
// Threads: the graph's.
dinrail_id dinrail_op_get_rows(dinrail_graph *graph, dinrail_id a, dinrail_id b);

// Stores `rows` (F32) at the row numbers `at` (I32 or I64) of `target`; the result is `target`.
//
// Threads: the graph's.
dinrail_id dinrail_op_set_rows(dinrail_graph *graph, dinrail_id rows, dinrail_id at, dinrail_id target);

// Copies and converts `a` into the memory of `b`; the result is `b`.
//
// Threads: the graph's.
dinrail_id dinrail_op_cpy(dinrail_graph *graph, dinrail_id a, dinrail_id b);

// A contiguous copy.
//
// Threads: the graph's.
dinrail_id dinrail_op_cont(dinrail_graph *graph, dinrail_id a);

// A contiguous copy.
//
// Threads: the graph's.
dinrail_id dinrail_op_dup(dinrail_graph *graph, dinrail_id a);

// The same elements under other lengths; a view. `a` is contiguous.
//
// Threads: the graph's.
dinrail_id dinrail_op_reshape(dinrail_graph *graph, dinrail_id a, size_t ne0, size_t ne1, size_t ne2, size_t ne3);

// A window on `a`: lengths, strides of dimensions 1 to 3 in bytes, first byte.
//
// Threads: the graph's.
dinrail_id dinrail_op_view(dinrail_graph *graph,
                           dinrail_id a,
                           size_t ne0,
                           size_t ne1,
                           size_t ne2,
                           size_t ne3,
                           size_t nb1,
                           size_t nb2,
                           size_t nb3,
                           size_t offset);

// Dimension 0 of `a` becomes dimension `axis0`, and so on; a view.
//
// Threads: the graph's.
dinrail_id dinrail_op_permute(dinrail_graph *graph,
                              dinrail_id a,
                              uint32_t axis0,
                              uint32_t axis1,
                              uint32_t axis2,
                              uint32_t axis3);

// Dimensions 0 and 1 change places; a view.
//
// Threads: the graph's.
dinrail_id dinrail_op_transpose(dinrail_graph *graph, dinrail_id a);

// `a` repeated to lengths.
//
// Threads: the graph's.
dinrail_id dinrail_op_repeat(dinrail_graph *graph, dinrail_id a, size_t ne0, size_t ne1, size_t ne2, size_t ne3);

// `a` and `b` one after the other along a dimension.
//
// Threads: the graph's.
dinrail_id dinrail_op_concat(dinrail_graph *graph, dinrail_id a, dinrail_id b, uint32_t dim);

// A copy of `a` with `b` added in a window: strides of dimensions 1 to 3 and first byte, in bytes.
//
// Threads: the graph's.
dinrail_id dinrail_op_acc(dinrail_graph *graph,
                          dinrail_id a,
                          dinrail_id b,
                          size_t nb1,
                          size_t nb2,
                          size_t nb3,
                          size_t offset);

// A copy of `a` with `b` stored in a window: strides of dimensions 1 to 3 and first byte, in bytes.
//
// Threads: the graph's.
dinrail_id dinrail_op_set(dinrail_graph *graph,
                          dinrail_id a,
                          dinrail_id b,
                          size_t nb1,
                          size_t nb2,
                          size_t nb3,
                          size_t offset);

// Elements whose column is greater than row plus `past` become minus infinity.
//
// Threads: the graph's.
dinrail_id dinrail_op_diag_mask_inf(dinrail_graph *graph, dinrail_id a, uint32_t past);

// `softmax(a * scale + slope * mask)` by row. `mask` and `sinks` (one logit per head) may be DINRAIL_NONE; `max_bias` is ALiBi's, 0 for none.
//
// Threads: the graph's.
dinrail_id dinrail_op_soft_max(dinrail_graph *graph,
                               dinrail_id a,
                               dinrail_id mask,
                               dinrail_id sinks,
                               float scale,
                               float max_bias);

// Rotary embedding of `a` by the positions `at` (I32). `factors` (on frequencies) may be DINRAIL_NONE.
//
// Threads: the graph's.
dinrail_id dinrail_op_rope(dinrail_graph *graph,
                           dinrail_id a,
                           dinrail_id at,
                           dinrail_id factors,
                           const dinrail_rope *rope);

// Attention in one node: `softmax(q k^T * scale + slope * mask) v` per head. `mask` and `sinks` may be DINRAIL_NONE; `max_bias` is ALiBi's and `softcap` limits the products, 0 for none. With `exact`, products are accumulated in f32.
//
// Threads: the graph's.
dinrail_id dinrail_op_flash_attn(dinrail_graph *graph,
                                 dinrail_id q,
                                 dinrail_id k,
                                 dinrail_id v,
                                 dinrail_id mask,
                                 dinrail_id sinks,
                                 float scale,
                                 float max_bias,
                                 float softcap,
                                 bool exact);

// `start`, `start + step`, and so on, below `stop`.
//
// Threads: the graph's.
dinrail_id dinrail_op_arange(dinrail_graph *graph, float start, float stop, float step);

/*
 * Plans
 * =====
 *
 * A plan says where each tensor of a graph lies in one arena, and how large that arena must be, before anything is
 * allocated. It needs no closing.
 */

// A finished plan.
typedef struct dinrail_plan {
    size_t words_[12];
} dinrail_plan;

// What the planner is asked for. Start from `DINRAIL_PLAN_OPTIONS_INIT`.
typedef struct dinrail_plan_options {
    // Alignment of every tensor in the arena, in bytes, a power of two: at least the buffer type's.
    size_t align;
    // Bytes kept free for kernels to work in: what `dinrail_stream_scratch` says.
    size_t scratch;
    // Whether every result is kept, to look at each. Takes more memory.
    bool keep_all;
} dinrail_plan_options;

// The place of one node, kept with the plan. Its contents are the library's.
typedef struct dinrail_place {
    size_t words_[2];
} dinrail_place;

// Working memory of the planner for one node, needed only while `dinrail_plan_make` runs.
typedef struct dinrail_work {
    uint64_t wide_[1];
    size_t words_[6];
} dinrail_work;

// What a plan costs.
typedef struct dinrail_plan_summary {
    // Bytes that the arena must have: tensors and scratch.
    size_t arena;
    // Bytes that tensors take at the fullest moment.
    size_t peak;
    // The largest sum of tensors that are alive at one moment, which no arrangement can beat.
    size_t lower_bound;
    // Bytes of scratch memory.
    size_t scratch;
    // What the arena's first byte must be a multiple of.
    size_t align;
} dinrail_plan_summary;

// Plans a finished graph. NULL for `options` stands for `DINRAIL_PLAN_OPTIONS_INIT`. DINRAIL_ERROR_FULL where `count` is less
// than the number of nodes.
//
// Threads: the plan's. Nothing of the graph changes.
//
// To be seen to by the caller:
// `options` is NULL or points to options; `places` has `count` entries, which live, and are used by nobody else, as long as the plan is used; `work` has `count`
// entries, which are free again on return.
dinrail_status dinrail_plan_make(dinrail_plan *target,
                                 const dinrail_graph *graph,
                                 const dinrail_plan_options *options,
                                 dinrail_place *places,
                                 dinrail_work *work,
                                 size_t count,
                                 dinrail_error *error);

// What a plan costs.
//
// Threads: any.
dinrail_status dinrail_plan_get_summary(const dinrail_plan *plan,
                                        dinrail_plan_summary *out,
                                        dinrail_error *error);

// Bytes that the arena must have; 0 for no plan. Short for `dinrail_plan_get_summary`.
//
// Threads: any.
size_t dinrail_plan_arena(const dinrail_plan *plan);

/*
 * Programs
 * ========
 *
 * A program is a graph with its plan and its memory, checked together once: every tensor is bound, aligned and inside its
 * buffer, and nothing writes to memory that may only be read. It can then be computed any number of times. It needs no
 * closing.
 */

// A graph with a plan and memory. Used by one thread at a time, as its buffers are.
typedef struct dinrail_program {
    uint64_t wide_[2];
    size_t words_[20];
} dinrail_program;

// What a slot of a graph is bound to.
typedef struct dinrail_binding {
    // An open buffer; NULL for none.
    const dinrail_buffer *buffer;
    // First byte of the slot in the buffer.
    size_t offset;
} dinrail_binding;

// Pieces of equal length at equal distances, on both sides of a transfer. In bytes.
typedef struct dinrail_rows {
    // Bytes of one piece.
    size_t size;
    // Number of pieces.
    size_t count;
    // Distance of the pieces in the tensor.
    size_t stride;
    // Distance of the pieces in the host's memory.
    size_t host_stride;
} dinrail_rows;

// Checks and joins graph, plan and memory. `slots[i]` is what slot `i` of the graph is bound to; slot 0 is the arena.
//
// Threads: the program's.
//
// To be seen to by the caller:
// `slots` has `count` entries. They, the buffers, and the memory of graph and plan live and stay as they are as long as
// the program is used. Where that memory is still there but something else is in it, or a buffer was closed, using the
// program is an error (DINRAIL_ERROR_STALE or DINRAIL_ERROR_NOT_OPEN).
dinrail_status dinrail_program_make(dinrail_program *program,
                                    const dinrail_graph *graph,
                                    const dinrail_plan *plan,
                                    const dinrail_binding *slots,
                                    size_t count,
                                    dinrail_error *error);

// Copies `size` bytes to byte `offset` of a node's data. Done on return. What is copied does not overlap with that data.
//
// Threads: the program's.
//
// To be seen to by the caller:
// `data` has `size` bytes.
dinrail_status dinrail_program_set(const dinrail_program *program,
                                   dinrail_id node,
                                   size_t offset,
                                   const void *data,
                                   size_t size,
                                   dinrail_error *error);

// Copies `size` bytes from byte `offset` of a node's data. Done on return; wait for the stream first.
//
// Threads: the program's.
//
// To be seen to by the caller:
// `data` has room for `size` bytes.
dinrail_status dinrail_program_get(const dinrail_program *program,
                                   dinrail_id node,
                                   size_t offset,
                                   void *data,
                                   size_t size,
                                   dinrail_error *error);

// `dinrail_program_set` for pieces of equal length at equal distances.
//
// Threads: the program's.
//
// To be seen to by the caller:
// `data` has all the pieces.
dinrail_status dinrail_program_set_rows(const dinrail_program *program,
                                        dinrail_id node,
                                        size_t offset,
                                        dinrail_rows rows,
                                        const void *data,
                                        dinrail_error *error);

// `dinrail_program_get` for pieces of equal length at equal distances.
//
// Threads: the program's.
//
// To be seen to by the caller:
// `data` has room for all the pieces.
dinrail_status dinrail_program_get_rows(const dinrail_program *program,
                                        dinrail_id node,
                                        size_t offset,
                                        dinrail_rows rows,
                                        void *data,
                                        dinrail_error *error);

// The address of a node's data, where the host can reach it; NULL otherwise, and for a node without data.
//
// Threads: the program's.
void *dinrail_program_data(const dinrail_program *program, dinrail_id node);

/*
 * Streams
 * =======
 *
 * A stream is a queue of work of one device. It lies in the caller's memory, filled with zeros before its first use, is not
 * copied or moved while it is open, and is closed by the caller. So is an event, a mark in a queue, and a prepared
 * program. A stream is used by one thread at a time, and in the process that opened it: after a fork the child opens its
 * own (DINRAIL_ERROR_STALE says so), and only closes what it got.
 */

// A queue of work.
typedef struct dinrail_stream {
    size_t words_[8];
} dinrail_stream;

// How to open a stream. All zeros are fine.
typedef struct dinrail_stream_params {
    // Number of threads, for devices that use the host's; 0 for what the device thinks best.
    size_t threads;
    // Anything else, in the device's own words, such as "level=scalar"; NULL for nothing.
    const char *text;
} dinrail_stream_params;

// A computation that is taken in steps. It needs no closing.
typedef struct dinrail_run {
    size_t words_[8];
} dinrail_run;

// A program that a stream has prepared for being computed many times.
typedef struct dinrail_prepared {
    size_t words_[8];
} dinrail_prepared;

// A mark in a stream's queue.
typedef struct dinrail_event {
    size_t words_[6];
} dinrail_event;

// Opens a stream of a device. NULL for `params` stands for all zeros.
//
// Threads: any; not from an interrupt.
//
// To be seen to by the caller:
// The text of `params` is NULL or a string.
dinrail_status dinrail_stream_open(dinrail_stream *stream,
                                   dinrail_device device,
                                   const dinrail_stream_params *params,
                                   dinrail_error *error);

// Finishes what is queued, and ends a stream. NULL and a stream that isn't open are no errors.
//
// Threads: the stream's; not from an interrupt.
void dinrail_stream_close(dinrail_stream *stream);

// The device of a stream.
//
// Threads: any.
dinrail_device dinrail_stream_device(const dinrail_stream *stream);

// Bytes of scratch memory that computing a finished graph on this stream needs: for `dinrail_plan_options`.
//
// Threads: the stream's.
dinrail_status dinrail_stream_scratch(const dinrail_stream *stream,
                                      const dinrail_graph *graph,
                                      size_t *out,
                                      dinrail_error *error);

// Queues the computation of a program. Results are there after `dinrail_stream_wait`.
//
// Threads: the stream's.
dinrail_status dinrail_stream_compute(const dinrail_stream *stream,
                                      const dinrail_program *program,
                                      dinrail_error *error);

// Waits until everything queued is done, and tells what went wrong since the last call.
//
// Threads: the stream's.
dinrail_status dinrail_stream_wait(const dinrail_stream *stream, dinrail_error *error);

// Starts a computation that is taken in steps, for a main loop that must go on meanwhile. Stream and program stay open and
// where they are until it is over. What the object held before is forgotten.
//
// Threads: the stream's.
dinrail_status dinrail_run_begin(dinrail_run *run,
                                 const dinrail_stream *stream,
                                 const dinrail_program *program,
                                 dinrail_error *error);

// Computes a piece; `done` tells whether it was the last one. On one core no piece takes longer than the slowest node.
// After an error the computation is over.
//
// Threads: the stream's.
dinrail_status dinrail_run_poll(dinrail_run *run, bool *done, dinrail_error *error);

// Computes all that is left.
//
// Threads: the stream's.
dinrail_status dinrail_run_wait(dinrail_run *run, dinrail_error *error);

// Prepares a program for being computed many times, where that gains something (DINRAIL_ERROR_NOT_OFFERED: use
// `dinrail_stream_compute`). Stream and program stay open and where they are until it is closed.
//
// Threads: the stream's.
dinrail_status dinrail_prepared_open(dinrail_prepared *prepared,
                                     const dinrail_stream *stream,
                                     const dinrail_program *program,
                                     dinrail_error *error);

// Queues a prepared program.
//
// Threads: the stream's.
dinrail_status dinrail_prepared_compute(const dinrail_prepared *prepared, dinrail_error *error);

// Gives a prepared program back, before its stream is closed. NULL and one that isn't open are no errors.
//
// Threads: the stream's.
void dinrail_prepared_close(dinrail_prepared *prepared);

// A new event of a device; DINRAIL_ERROR_NOT_OFFERED where it has none (see DINRAIL_CAP_EVENTS).
//
// Threads: any.
dinrail_status dinrail_event_open(dinrail_event *event, dinrail_device device, dinrail_error *error);

// Gives an event back. NULL and one that isn't open are no errors.
//
// Threads: the event's.
void dinrail_event_close(dinrail_event *event);

// Waits on the host until the work before the recorded mark is done.
//
// Threads: the event's.
dinrail_status dinrail_event_wait(const dinrail_event *event, dinrail_error *error);

// Queues a mark.
//
// Threads: the stream's and the event's.
dinrail_status dinrail_stream_record(const dinrail_stream *stream,
                                     const dinrail_event *event,
                                     dinrail_error *error);

// Makes later work of a stream wait for a mark of another one.
//
// Threads: the stream's and the event's.
dinrail_status dinrail_stream_wait_event(const dinrail_stream *stream,
                                         const dinrail_event *event,
                                         dinrail_error *error);

/*
 * Queued transfers
 * ================
 *
 * Copies in order with what else a stream has queued, so that the host prepares the next input while a device works. The
 * host's memory stays there, and is left alone, until the stream has been waited for. Devices without a queue for it copy
 * at once.
 */

// Queues a copy of `size` bytes to byte `offset` of a node's data. What is copied does not overlap with that data.
//
// Threads: the stream's and the program's.
//
// To be seen to by the caller:
// `data` has `size` bytes, which stay as they are until the stream has been waited for; as long the program's buffers stay
// open.
dinrail_status dinrail_stream_set(const dinrail_stream *stream,
                                  const dinrail_program *program,
                                  dinrail_id node,
                                  size_t offset,
                                  const void *data,
                                  size_t size,
                                  dinrail_error *error);

// Queues a copy of `size` bytes from byte `offset` of a node's data. They are there when the stream has been waited for.
//
// Threads: the stream's and the program's.
//
// To be seen to by the caller:
// `data` has room for `size` bytes, which nobody touches until the stream has been waited for; as long the program's
// buffers stay open.
dinrail_status dinrail_stream_get(const dinrail_stream *stream,
                                  const dinrail_program *program,
                                  dinrail_id node,
                                  size_t offset,
                                  void *data,
                                  size_t size,
                                  dinrail_error *error);

// Copies a node's data, in memory that stream `from` works on, to a node of the same layout in memory that `stream` works on,
// in order with what both have queued. This is how a program goes on where another one, of another device, ended.
//
// Threads: both streams' and both programs'.
//
// To be seen to by the caller:
// The buffers of both programs stay open until both streams have been waited for.
dinrail_status dinrail_stream_copy(const dinrail_stream *stream,
                                   const dinrail_program *program,
                                   dinrail_id node,
                                   const dinrail_stream *from,
                                   const dinrail_program *from_program,
                                   dinrail_id from_node,
                                   dinrail_error *error);

/*
 * Model files
 * ===========
 *
 * GGUF, versions 2 and 3, in memory: a file in flash, in the executable, or mapped (`dinrail_file_map`). Nothing is copied.
 * What `dinrail_gguf_open` accepts is sound in all parts; see its errors for what is not. Text and data live as long as the
 * file's memory. All functions on an opened file may be called from any thread. It needs no closing.
 */

// 8 bits, unsigned.
#define DINRAIL_GGUF_U8 0

// 8 bits.
#define DINRAIL_GGUF_I8 1

// 16 bits, unsigned.
#define DINRAIL_GGUF_U16 2

// 16 bits.
#define DINRAIL_GGUF_I16 3

// 32 bits, unsigned.
#define DINRAIL_GGUF_U32 4

// 32 bits.
#define DINRAIL_GGUF_I32 5

// A float.
#define DINRAIL_GGUF_F32 6

// 0 or 1.
#define DINRAIL_GGUF_BOOL 7

// A string.
#define DINRAIL_GGUF_STRING 8

// An array of one of the others.
#define DINRAIL_GGUF_ARRAY 9

// 64 bits, unsigned.
#define DINRAIL_GGUF_U64 10

// 64 bits.
#define DINRAIL_GGUF_I64 11

// A double.
#define DINRAIL_GGUF_F64 12

// A model file in memory.
typedef struct dinrail_gguf {
    uint64_t wide_[6];
    size_t words_[8];
} dinrail_gguf;

// A tensor of a file. For a graph: bind the file's memory to a slot and pass `offset`.
typedef struct dinrail_gguf_tensor {
    // Its name.
    dinrail_str name;
    // Type of its elements.
    dinrail_dtype dtype;
    // How many dimensions the file gives.
    uint32_t dims;
    // Lengths, innermost first; 1 from `dims` on.
    size_t ne[4];
    // First byte, counted from the start of the file.
    size_t offset;
    // Number of bytes.
    size_t size;
    // Its bytes.
    const void *data;
} dinrail_gguf_tensor;

// Type of a value in a file, with GGUF's numbers.
typedef uint32_t dinrail_gguf_type;

// A value of a file's metadata. Fields that don't apply are 0.
typedef struct dinrail_gguf_value {
    // One of DINRAIL_GGUF_*.
    dinrail_gguf_type value_type;
    // Type of an array's elements.
    dinrail_gguf_type element_type;
    // An integer of any type (or 0 or 1), if it fits.
    int64_t i64;
    // An integer of any type (or 0 or 1) that isn't negative.
    uint64_t u64;
    // A number of any type.
    double f64;
    // A string's bytes (UTF-8, if whoever wrote the file kept to the rules), or an array's elements as they are in the file,
    // at any address.
    dinrail_str bytes;
    // Number of an array's elements.
    size_t count;
} dinrail_gguf_value;

// Checks a whole file. `scratch` is working memory, free again on return: one word for each key or tensor, whichever are more,
// makes the check fast. With NULL and 0 a small part of the stack does for it; DINRAIL_ERROR_GGUF_SCRATCH says how many
// words it takes when there are too many names for that.
//
// Threads: the file's.
//
// To be seen to by the caller:
// `data` has `size` bytes, which live and don't change as long as the file is used; `scratch` is NULL or has
// `scratch_words` words.
dinrail_status dinrail_gguf_open(dinrail_gguf *file,
                                 const void *data,
                                 size_t size,
                                 uint32_t *scratch,
                                 size_t scratch_words,
                                 dinrail_error *error);

// Number of tensors.
//
// Threads: any.
size_t dinrail_gguf_tensor_count(const dinrail_gguf *gguf);

// Tensor `index`, in the file's order. Reads over those before it.
//
// Threads: any.
dinrail_status dinrail_gguf_tensor_at(const dinrail_gguf *gguf,
                                      size_t index,
                                      dinrail_gguf_tensor *out,
                                      dinrail_error *error);

// The tensor of this name. Reads over those before it.
//
// Threads: any.
//
// To be seen to by the caller:
// `name` is NULL or a string.
dinrail_status dinrail_gguf_find_tensor(const dinrail_gguf *gguf,
                                        const char *name,
                                        dinrail_gguf_tensor *out,
                                        dinrail_error *error);

// Number of keys.
//
// Threads: any.
size_t dinrail_gguf_key_count(const dinrail_gguf *gguf);

// Key `index` and its value, in the file's order. Reads over those before it. NULL for `key` or `value` leaves that out.
//
// Threads: any.
dinrail_status dinrail_gguf_key_at(const dinrail_gguf *gguf,
                                   size_t index,
                                   dinrail_str *key,
                                   dinrail_gguf_value *value,
                                   dinrail_error *error);

// The value of a key. Reads over those before it.
//
// Threads: any.
//
// To be seen to by the caller:
// `key` is NULL or a string.
dinrail_status dinrail_gguf_find_value(const dinrail_gguf *gguf,
                                       const char *key,
                                       dinrail_gguf_value *out,
                                       dinrail_error *error);

// Element `index` of the array of a key. Reads over those before it where they are strings.
//
// Threads: any.
//
// To be seen to by the caller:
// `key` is NULL or a string.
dinrail_status dinrail_gguf_find_element(const dinrail_gguf *gguf,
                                         const char *key,
                                         size_t index,
                                         dinrail_gguf_value *out,
                                         dinrail_error *error);

/*
 * Backends of the program's own
 * =============================
 *
 * A driver makes an accelerator known that the library has never heard of: one device that computes in host memory, node
 * by node, through functions of the program's. Everything that takes a device takes this one too. The library checks
 * shapes, ranges, alignment and who may write before it calls; a driver only says which nodes it has a kernel for, and
 * computes them.
 */

// Memory for a driver, for as long as the program runs. Filled with zeros before its first use.
typedef struct dinrail_driver {
    size_t words_[32];
} dinrail_driver;

// A source or the result of a node.
typedef struct dinrail_operand {
    // Its first byte; NULL if it has no bytes, and while support is asked for.
    void *data;
    // Type, lengths and strides.
    dinrail_desc desc;
} dinrail_operand;

// A node as a driver sees it.
typedef struct dinrail_task {
    // The operation by ggml's name, such as "MUL_MAT"; functions of one element and gated units by their own, such as "SILU"
    // and "SWIGLU".
    dinrail_str op;
    // The result. It may lie in the memory of a source, where the operation allows.
    dinrail_operand dst;
    // The sources; one that is left out has the element type DINRAIL_NONE.
    dinrail_operand src[8];
    // The operation's numbers, in the order of its function here: scale and bias, eps, base and so on; 0 from the last on.
    float reals[8];
    // Its whole numbers, likewise: `dim`, `axis0`, `exact`, `swapped`, strides and offset and so on.
    int64_t integers[8];
} dinrail_task;

// What a driver is and can do. The functions may be called by any thread, for different streams at the same time. They may
// use the library, but not the stream and program they are called for; and they return: neither an exception nor
// `longjmp` leaves them.
typedef struct dinrail_driver_info {
    // Name of backend and device, unique in the table.
    const char *name;
    // A name for people; NULL for none.
    const char *description;
    // One of DINRAIL_DEVICE_*.
    dinrail_device_kind kind;
    // Whether there is a kernel for a task. The answer is a promise, and always the same.
    bool (*supports)(void *user, const dinrail_task *task);
    // Computes a task. Anything but 0 is an error of the device: it ends the computation as DINRAIL_ERROR_DEVICE with
    // this number.
    int32_t (*compute)(void *user, const dinrail_task *task);
    // Handed to the functions.
    void *user;
} dinrail_driver_info;

// Makes a driver known. The same driver again is no error: it gives the same backend, also after it was taken out.
// DINRAIL_ERROR_FULL where the table has no room (a library without `std` has room for as many as `DINRAIL_SLOTS` said when
// it was built, else for none); DINRAIL_ERROR_NAME_TAKEN where another backend has the name. Nothing is changed then.
//
// Threads: the driver's; not from an interrupt.
//
// To be seen to by the caller:
// `driver` and what `info` points to live, and stay as they are, as long as the program runs.
dinrail_status dinrail_backend_register(dinrail_driver *driver,
                                        const dinrail_driver_info *info,
                                        dinrail_backend *out,
                                        dinrail_error *error);

// Takes a backend out of the table, if it was put there while the program ran. DINRAIL_ERROR_IN_USE, with their numbers, where
// streams of it are open (of a plug-in, also buffers and events).
//
// Threads: any; not from an interrupt.
dinrail_status dinrail_backend_unregister(dinrail_backend backend,
                                          dinrail_error *error);

/*
 * Plug-ins
 * ========
 *
 * Backends from shared libraries, ggml's own among them: in a library that was built with the feature `dynamic`; elsewhere these
 * functions answer DINRAIL_ERROR_NOT_OFFERED. Nothing is searched or opened that nobody asked for. What is searched, in which
 * order, and what is never opened, the documentation of the Rust module `dinrail::loader` says.
 */

// What became of one file. Text is valid during the call.
typedef struct dinrail_candidate {
    // The file; a path that isn't UTF-8 as well as it can be printed.
    dinrail_str path;
    // The name that it is a candidate for, such as "cuda"; of its backend, if it was taken.
    dinrail_str name;
    // Why it was not taken, in the system's words where there are any.
    dinrail_str reason;
    // What it thinks of this machine; -1 if it was not asked or doesn't say.
    int64_t score;
    // Whether it is in the table now.
    bool taken;
} dinrail_candidate;

// Is told of each file that was looked at. It must not call the library, and returns: neither an exception nor `longjmp`
// leaves it.
typedef void (*dinrail_report_function)(void *user, const dinrail_candidate *candidate);

// Loads one library into the table; the path is UTF-8. DINRAIL_ERROR_LOAD if it can't be taken: `report`, which may be NULL, is told
// why. `dinrail_backend_unregister` takes it out and closes the library.
//
// Threads: any; not from an interrupt.
//
// To be seen to by the caller:
// `path` is NULL or a string, and what is loaded is trusted like the program itself.
dinrail_status dinrail_backend_load(const char *path,
                                    dinrail_report_function report,
                                    void *user,
                                    dinrail_error *error);

// Loads the best library for each kind of device, from a directory (UTF-8) or, with NULL, from the usual places. How many were
// taken goes to `taken`; none is no error. `report`, which may be NULL, is told of each file.
//
// Threads: any; not from an interrupt.
//
// To be seen to by the caller:
// `directory` is NULL or a string, and what lies there is trusted like the program itself.
dinrail_status dinrail_backend_load_all(const char *directory,
                                        dinrail_report_function report,
                                        void *user,
                                        size_t *taken,
                                        dinrail_error *error);

/*
 * Log
 * ===
 *
 * The library writes nothing anywhere. What it has to say goes to the program's own function, if there is one.
 */

// Something went wrong.
#define DINRAIL_LOG_ERROR 1

// Something may go wrong, or an error that was also returned.
#define DINRAIL_LOG_WARN 2

// What a user may want to know.
#define DINRAIL_LOG_INFO 3

// What a developer may want to know.
#define DINRAIL_LOG_DEBUG 4

// Everything.
#define DINRAIL_LOG_TRACE 5

// Takes one message: its level, and text of `size` bytes without a 0 at its end, valid during the call. Called by any
// thread, several at a time; it must not call the library, and returns: neither an exception nor `longjmp` leaves it.
typedef void (*dinrail_log_function)(void *user, uint32_t level, const char *text, size_t size);

// Where messages go.
typedef struct dinrail_logger {
    // The program's function.
    dinrail_log_function function;
    // Handed to it.
    void *user;
    // The highest level that is wanted.
    uint32_t level;
} dinrail_logger;

// Sends messages to a logger from here on; NULL for none. DINRAIL_ERROR_NOT_OFFERED in a library without `std`, which has no
// messages.
//
// Threads: any. On return another thread may still be inside the logger that was there before, so give it static life.
//
// To be seen to by the caller:
// The logger lives, and stays as it is, until the program ends.
dinrail_status dinrail_log_to(const dinrail_logger *logger,
                              dinrail_error *error);

#ifndef DINRAIL_NO_STD

/*
 * Mapped files
 * ============
 *
 * Only in a library with `std`: a header for one without leaves this chapter out where DINRAIL_NO_STD is defined.
 */

// A file in memory. Closed by the caller.
typedef struct dinrail_file {
    size_t words_[8];
} dinrail_file;

// Maps a file into memory, read-only. The path is UTF-8. Another process that shortens the file while it is mapped takes its
// memory away: a program that can't exclude that reads the file into memory of its own.
//
// Threads: any.
//
// To be seen to by the caller:
// `path` is NULL or a string.
dinrail_status dinrail_file_map(dinrail_file *file,
                                const char *path,
                                dinrail_error *error);

// First byte of a mapped file; NULL for one that isn't open. Its size goes to `size`.
//
// Threads: any.
const void *dinrail_file_data(const dinrail_file *file, size_t *size);

// Takes a file out of memory. NULL and one that isn't open are no errors.
//
// Threads: the file's.
void dinrail_file_close(dinrail_file *file);

#endif

#ifdef __cplusplus
}
#endif

/* For printf's "%.*s". */
#define DINRAIL_TEXT(s) (int)(s).size, (const char *)((s).data != NULL ? (s).data : "")

/* 64-byte alignment, no scratch, results in place of what nobody needs any more. */
#define DINRAIL_PLAN_OPTIONS_INIT {64, 0, false}

/* Plain rotary embedding. */
#define DINRAIL_ROPE_INIT(dims, mode, base) {(dims), (mode), 0, (base), 1.0f, 0.0f, 1.0f, 32.0f, 1.0f}

#if defined(__cplusplus)
#define DINRAIL_ASSERT_(condition, text) static_assert(condition, text)
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define DINRAIL_ASSERT_(condition, text) _Static_assert(condition, text)
#endif
#ifdef DINRAIL_ASSERT_
DINRAIL_ASSERT_(sizeof(dinrail_buffer) == 0 * sizeof(uint64_t) + 8 * sizeof(uintptr_t), "dinrail_buffer");
DINRAIL_ASSERT_(sizeof(dinrail_graph) == 6 * sizeof(uint64_t) + 6 * sizeof(uintptr_t), "dinrail_graph");
DINRAIL_ASSERT_(sizeof(dinrail_node) == 8 * sizeof(uint64_t) + 14 * sizeof(uintptr_t), "dinrail_node");
DINRAIL_ASSERT_(sizeof(dinrail_place) == 0 * sizeof(uint64_t) + 2 * sizeof(uintptr_t), "dinrail_place");
DINRAIL_ASSERT_(sizeof(dinrail_work) == 1 * sizeof(uint64_t) + 6 * sizeof(uintptr_t), "dinrail_work");
DINRAIL_ASSERT_(sizeof(dinrail_plan) == 0 * sizeof(uint64_t) + 12 * sizeof(uintptr_t), "dinrail_plan");
DINRAIL_ASSERT_(sizeof(dinrail_program) == 2 * sizeof(uint64_t) + 20 * sizeof(uintptr_t), "dinrail_program");
DINRAIL_ASSERT_(sizeof(dinrail_stream) == 0 * sizeof(uint64_t) + 8 * sizeof(uintptr_t), "dinrail_stream");
DINRAIL_ASSERT_(sizeof(dinrail_event) == 0 * sizeof(uint64_t) + 6 * sizeof(uintptr_t), "dinrail_event");
DINRAIL_ASSERT_(sizeof(dinrail_run) == 0 * sizeof(uint64_t) + 8 * sizeof(uintptr_t), "dinrail_run");
DINRAIL_ASSERT_(sizeof(dinrail_prepared) == 0 * sizeof(uint64_t) + 8 * sizeof(uintptr_t), "dinrail_prepared");
DINRAIL_ASSERT_(sizeof(dinrail_gguf) == 6 * sizeof(uint64_t) + 8 * sizeof(uintptr_t), "dinrail_gguf");
DINRAIL_ASSERT_(sizeof(dinrail_binding) == 0 * sizeof(uint64_t) + 2 * sizeof(uintptr_t), "dinrail_binding");
DINRAIL_ASSERT_(sizeof(dinrail_device) == 0 * sizeof(uint64_t) + 2 * sizeof(uintptr_t), "dinrail_device");
DINRAIL_ASSERT_(sizeof(dinrail_str) == 0 * sizeof(uint64_t) + 2 * sizeof(uintptr_t), "dinrail_str");
DINRAIL_ASSERT_(sizeof(dinrail_driver) == 0 * sizeof(uint64_t) + 32 * sizeof(uintptr_t), "dinrail_driver");
#endif

#endif
