// tests/suites/cmake_project/main.cpp — deadrank with more words: every command knows them.
#include <deadrank/runners/program/program.h>

#include "token_ring.h"

int main(int argc, char** argv) { return deadrank::runners::run_program(argc, argv, token_ring()); }
