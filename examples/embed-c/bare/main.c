/* No operating system, no C library, no heap: the anomaly detector on a model and a recording in the executable. */
#include "../detector.h"
#include "bare.h"

static detector d;
static _Alignas(64) unsigned char arena[16 * 1024];
static float out[DETECTOR_WIDTH];

static void number(long long n) {
    char text[24];
    int at = sizeof text - 1;
    unsigned long long left = n < 0 ? 0ull - (unsigned long long)n : (unsigned long long)n;
    text[at] = 0;
    do text[--at] = (char)('0' + left % 10);
    while ((left /= 10) != 0);
    if (n < 0) text[--at] = '-';
    bare_print(text + at);
}

static int fail(const char *what, const dinrail_error *error) {
    bare_print(what);
    bare_print(": ");
    bare_print(dinrail_status_name(error->code));
    for (int i = 0; i < 3; i++) {
        bare_print(" ");
        number(error->numbers[i]);
    }
    bare_print("\n");
    return 1;
}

int bare_main(void) {
    dinrail_error error;
    dinrail_device device;
    dinrail_buffer heap = {0};
    double mse = 0;
    if (dinrail_device_by_kind(DINRAIL_DEVICE_CPU, &device, &error)) return fail("device", &error);
    /* There is no heap: an error, and the program goes on. */
    if (dinrail_buffer_alloc(&heap, dinrail_device_buffer_type(device), 64, &error) != DINRAIL_ERROR_OUT_OF_MEMORY)
        return fail("heap", &error);
    size_t size = (size_t)(model_end - model);
    /* Nor is a model that was cut off in flash the end of it. */
    if (detector_plan(&d, device, model, size - 1, &error) != DINRAIL_ERROR_GGUF) return fail("cut", &error);
    fail("a model that is cut off", &error);
    if (detector_plan(&d, device, model, size, &error)) return fail("plan", &error);
    size_t need = detector_arena(&d);
    if (detector_open(&d, arena, need - 64, &error) != DINRAIL_ERROR_FULL) return fail("small", &error);
    fail("an arena that is too small", &error);
    dinrail_buffer_close(&d.arena);
    if (detector_open(&d, arena, sizeof arena, &error)) return fail("open", &error);
    for (int window = 0; window < 3; window++) {
        const float *sample = recording + window * DETECTOR_BINS;
        if (detector_run(&d, sample, out, &mse, &error)) return fail("run", &error);
        bare_print("window ");
        number(window);
        bare_print(": ");
        number((long long)(mse * 1000));
        bare_print(" thousandths\n");
    }
    detector_close(&d);
    /* Window 2 by the reference: 11.530725. */
    return mse > 11.4 && mse < 11.7 ? 0 : 1;
}
