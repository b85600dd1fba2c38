/* What the two machines give to main.c. */
#ifndef BARE_H
#define BARE_H

/* Prints text that ends with a 0. */
void bare_print(const char *text);

int bare_main(void);

/* The model file and the recording, in read-only memory. */
extern const unsigned char model[], model_end[];
extern const float recording[];

#endif
