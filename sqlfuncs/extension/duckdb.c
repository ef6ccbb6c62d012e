#include "duckdb.h"

void *duckdb_api[FUNCTIONS];
