<?php
// Functions that call each other, themselves, and those of PHP.
class Work
{
    public function run(int $depth, int $n): float
    {
        return $depth ? self::digits($n) + $this->run($depth - 1, $n) : total($n);
    }

    private static function digits(int $n): float
    {
        return total($n) + array_sum(str_split((string) $n));
    }
}

function total(int $n): float
{
    return array_sum(array_map(fn ($i) => $i * 0.5, range(1, $n)));
}

echo (new Work())->run(3, 40), strlen(str_repeat('a', 100000)), "\n";
