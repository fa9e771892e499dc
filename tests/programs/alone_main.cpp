// tests/programs/alone_main.cpp — The program around one folder's library: it only has to link.
int main() { return 0; }
