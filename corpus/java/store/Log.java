/** Messages for whoever looks after the store. */
class Log {
    static final boolean VERBOSE = false;

    /*@ helper @*/
    static void say(String text) {
        if (VERBOSE) {
            System.out.println("store: " + text);
        }
    }
}
