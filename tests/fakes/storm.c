/*
 * Chains of processes, each of which forks the next and exits, as fast as the machine can:
 *
 *     storm CHAINS OWN_SESSIONS HOPS_BEFORE HOPS_AFTER FLAG SURVIVORS
 *
 * Nobody has to stop it, so that it never takes all the numbers that a machine has.  Until the first
 * byte of the file FLAG is set, each chain makes so many hops at the most, and ends without a word.
 * From then on it makes so many more: one that comes to the last of them adds a byte to SURVIVORS.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int count, char **arguments) {
    if (count != 7) return 2;
    int chains = atoi(arguments[1]), own_sessions = atoi(arguments[2]);
    int before = atoi(arguments[3]), after = atoi(arguments[4]);
    volatile char *flag =
        mmap(NULL, 1, PROT_READ, MAP_SHARED, open(arguments[5], O_RDONLY), 0);
    int survivors = open(arguments[6], O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (flag == MAP_FAILED || survivors < 0) return 2;
    for (int chain = 0; chain < chains; chain++) {
        if (fork() != 0) continue;
        while (after > 0) {
            if (*flag) after--;
            else if (before-- == 0) _exit(0);
            if (own_sessions) setsid();
            if (fork() != 0) _exit(0);
        }
        _exit(write(survivors, ".", 1) != 1);
    }
    pause();
}
