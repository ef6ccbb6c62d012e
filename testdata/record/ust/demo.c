// Two threads of a shop take orders. Each order is an event, and a function that -finstrument-functions records.
#define _GNU_SOURCE
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "demo-tp.h"
#include <pthread.h>
#include <unistd.h>

static void order(int number) {
	static const char *names[] = {"tea", "coffee \"to go\"", "Käse\n", "scone"};
	int items[] = {number, -number, 3, 4};
	lttng_ust_tracepoint(shop, order, number, names[number % 4], number * 1.25, items, number % 5, number % 11);
	usleep(20);
}

static void *work(void *from) {
	for (int i = 0; i < 12; i++)
		order((int)(long)from + i);
	lttng_ust_tracepoint(shop, idle);
	return NULL;
}

int main(void) {
	pthread_t other;
	pthread_create(&other, NULL, work, (void *)100);
	pthread_setname_np(other, "till");
	work(0);
	pthread_join(other, NULL);
	return 0;
}
