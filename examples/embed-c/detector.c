#include "detector.h"

static const size_t widths[DETECTOR_LAYERS + 1] = {640, 128, 128, 128, 128, 8, 128, 128, 128, 128, 640};

/* A tensor "dense.K.weight" or "dense.K.bias" as a leaf. Slot 1 is the model file. */
static dinrail_status leaf(dinrail_graph *g, const dinrail_gguf *file, int layer, const char *what, size_t rows,
                           dinrail_id *id, dinrail_error *error) {
    char name[] = "dense.K.\0\0\0\0\0\0";
    dinrail_gguf_tensor t;
    name[6] = (char)('0' + layer);
    for (size_t i = 0; what[i] != 0; i++) name[8 + i] = what[i];
    dinrail_status status = dinrail_gguf_find_tensor(file, name, &t, error);
    if (status == DINRAIL_OK) {
        size_t columns = rows == 1 ? widths[layer + 1] : widths[layer];
        *id = dinrail_graph_weight(g, t.dtype, columns, rows, 1, 1, 1, t.offset);
        /* Another shape would read other tensors' bytes. */
        dinrail_desc desc;
        status = dinrail_graph_desc(g, *id, &desc, error);
        if (status == DINRAIL_OK && (t.ne[0] != columns || t.ne[1] != rows)) {
            status = DINRAIL_ERROR_SIZE;
            if (error != NULL) error->code = status;
        }
    }
    return status;
}

dinrail_status detector_plan(detector *d, dinrail_device device, const void *model, size_t size, dinrail_error *error) {
    dinrail_gguf file = {0};
    dinrail_work work[DETECTOR_NODES];
    dinrail_plan_options options = DINRAIL_PLAN_OPTIONS_INIT;
    dinrail_stream_params one = {1, NULL};
    dinrail_status s;
    if ((s = dinrail_gguf_open(&file, model, size, NULL, 0, error)) != DINRAIL_OK) return s;
    if ((s = dinrail_graph_begin(&d->graph, d->nodes, DETECTOR_NODES, error)) != DINRAIL_OK) return s;
    dinrail_id x = d->input = dinrail_graph_input(&d->graph, DINRAIL_F32, DETECTOR_WIDTH, 1, 1, 1);
    for (int i = 0; i < DETECTOR_LAYERS; i++) {
        dinrail_id weight, bias;
        if ((s = leaf(&d->graph, &file, i, "weight", widths[i + 1], &weight, error)) != DINRAIL_OK) return s;
        x = dinrail_op_mul_mat(&d->graph, weight, x, false);
        if ((s = leaf(&d->graph, &file, i, "bias", 1, &bias, error)) != DINRAIL_OK) return s;
        x = dinrail_op_add(&d->graph, x, bias);
        if (i + 1 < DETECTOR_LAYERS) x = dinrail_op_relu(&d->graph, x);
    }
    d->output = x;
    dinrail_graph_output(&d->graph, x);
    if ((s = dinrail_graph_finish(&d->graph, error)) != DINRAIL_OK) return s;
    if ((s = dinrail_stream_open(&d->stream, device, &one, error)) != DINRAIL_OK) return s;
    if ((s = dinrail_stream_scratch(&d->stream, &d->graph, &options.scratch, error)) != DINRAIL_OK) return s;
    s = dinrail_plan_make(&d->plan, &d->graph, &options, d->places, work, DETECTOR_NODES, error);
    if (s != DINRAIL_OK) return s;
    return dinrail_buffer_lend_const(&d->model, device, model, size, 0, error);
}

size_t detector_arena(const detector *d) {
    return dinrail_plan_arena(&d->plan);
}

dinrail_status detector_open(detector *d, void *arena, size_t size, dinrail_error *error) {
    dinrail_device device = dinrail_stream_device(&d->stream);
    dinrail_status s;
    if (arena == NULL) {
        s = dinrail_buffer_alloc(&d->arena, dinrail_device_buffer_type(device), detector_arena(d), error);
    } else {
        s = dinrail_buffer_lend(&d->arena, device, arena, size, error);
    }
    if (s != DINRAIL_OK) return s;
    d->slots[0].buffer = &d->arena;
    d->slots[1].buffer = &d->model;
    return dinrail_program_make(&d->program, &d->graph, &d->plan, d->slots, 2, error);
}

void detector_close(detector *d) {
    dinrail_buffer_close(&d->arena);
    dinrail_buffer_close(&d->model);
    dinrail_stream_close(&d->stream);
}

dinrail_status detector_run(detector *d, const float *sample, float *out, double *mse, dinrail_error *error) {
    const size_t bytes = DETECTOR_WIDTH * sizeof(float);
    dinrail_status s;
    if ((s = dinrail_program_set(&d->program, d->input, 0, sample, bytes, error)) != DINRAIL_OK) return s;
    if ((s = dinrail_stream_compute(&d->stream, &d->program, error)) != DINRAIL_OK) return s;
    if ((s = dinrail_stream_wait(&d->stream, error)) != DINRAIL_OK) return s;
    if ((s = dinrail_program_get(&d->program, d->output, 0, out, bytes, error)) != DINRAIL_OK) return s;
    double sum = 0;
    for (size_t i = 0; i < DETECTOR_WIDTH; i++) {
        double off = (double)sample[i] - (double)out[i];
        sum += off * off;
    }
    *mse = sum / DETECTOR_WIDTH;
    return DINRAIL_OK;
}
