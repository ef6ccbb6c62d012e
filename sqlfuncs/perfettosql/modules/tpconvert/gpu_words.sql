-- What slices of profiles of GPUs are, by their category and name. DuckDB reads these macros, too.

CREATE OR REPLACE PERFETTO MACRO _gpu_is_work(category Expr) RETURNS Expr AS
$category IN ('kernel', 'gpu_memcpy', 'gpu_memset', 'Kernel', 'Memcpy', 'Memset', 'XLA Ops');

-- Calls that work names by its correlation id.
CREATE OR REPLACE PERFETTO MACRO _gpu_is_call(category Expr) RETURNS Expr AS
$category IN ('cuda_runtime', 'cuda_driver', 'Runtime', 'hip_runtime', 'privateuse1_runtime');

CREATE OR REPLACE PERFETTO MACRO _gpu_kind(category Expr, name Expr) RETURNS Expr AS
CASE WHEN $category IN ('gpu_memcpy', 'gpu_memset', 'Memcpy', 'Memset') OR $name GLOB 'Memcpy*' OR $name GLOB 'Memset*' OR $name GLOB 'dma*' THEN 'memory'
     WHEN lower($name) GLOB 'nccl*' OR lower($name) GLOB 'rccl*' OR lower($name) GLOB 'oneccl*' OR lower($name) GLOB 'mscclpp*' THEN 'communication'
     ELSE 'computation' END;

CREATE OR REPLACE PERFETTO MACRO _gpu_direction(category Expr, name Expr) RETURNS Expr AS
CASE WHEN $category NOT IN ('gpu_memcpy', 'Memcpy') THEN NULL
     WHEN lower($name) GLOB '*htod*' OR lower($name) GLOB '*h2d*' OR lower($name) GLOB '*host*to*device*' THEN 'HtoD'
     WHEN lower($name) GLOB '*dtoh*' OR lower($name) GLOB '*d2h*' OR lower($name) GLOB '*device*to*host*' THEN 'DtoH'
     WHEN lower($name) GLOB '*ptop*' OR lower($name) GLOB '*p2p*' OR lower($name) GLOB '*peer*to*peer*' THEN 'PtoP'
     WHEN lower($name) GLOB '*dtod*' OR lower($name) GLOB '*d2d*' OR lower($name) GLOB '*device*to*device*' THEN 'DtoD'
     WHEN lower($name) GLOB '*htoh*' OR lower($name) GLOB '*h2h*' OR lower($name) GLOB '*host*to*host*' THEN 'HtoH'
     ELSE 'other' END;
