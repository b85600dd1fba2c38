/* MLPerf Tiny's anomaly detector, an autoencoder of ten dense layers: what it can't reproduce sounds wrong.
 *
 * Nothing here allocates: a detector is a structure with room for everything but the arena. */
#ifndef DETECTOR_H
#define DETECTOR_H

#include <dinrail.h>

enum {
    DETECTOR_LAYERS = 10,
    DETECTOR_NODES = 1 + 5 * DETECTOR_LAYERS - 1,
    DETECTOR_WIDTH = 640, /* of input and output: five frames of 128 bins */
    DETECTOR_BINS = 128
};

typedef struct detector {
    dinrail_stream stream;
    dinrail_graph graph;
    dinrail_node nodes[DETECTOR_NODES];
    dinrail_plan plan;
    dinrail_place places[DETECTOR_NODES];
    dinrail_buffer arena, model;
    dinrail_binding slots[2];
    dinrail_program program;
    dinrail_id input, output;
} detector;

/* Builds and plans the network of a model file; `detector_arena` then says how much memory it computes in. Fill `d` with zeros
 * before. */
dinrail_status detector_plan(detector *d, dinrail_device device, const void *model, size_t size, dinrail_error *error);

/* Bytes that the arena must have. */
size_t detector_arena(const detector *d);

/* Joins it with its arena: memory of the caller's (aligned to 64 bytes), or NULL to take it from the device. */
dinrail_status detector_open(detector *d, void *arena, size_t size, dinrail_error *error);

/* Gives everything back. */
void detector_close(detector *d);

/* Computes the mean squared error of a sample of DETECTOR_WIDTH numbers. `out` has room for as many. */
dinrail_status detector_run(detector *d, const float *sample, float *out, double *mse, dinrail_error *error);

#endif
