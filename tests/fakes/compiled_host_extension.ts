/** Make pi look as if it were one compiled program (COMPILED_PI): its script is in no file system. */

export default function extension(): void {
  process.execPath = process.env.COMPILED_PI ?? "";
  process.argv[1] = "/$bunfs/root/pi";
}
