
    static BigInteger number(Object a) { return (BigInteger) a; }
    static BigInteger big(String digits) { return new BigInteger(digits); }
    static Object add(Object a, Object b) { return number(a).add(number(b)); }
    static Object sub(Object a, Object b) { return number(a).subtract(number(b)); }
    static Object mul(Object a, Object b) { return number(a).multiply(number(b)); }

    static Object div(Object a, Object b) {
        if (number(b).signum() == 0) return BigInteger.ZERO;
        return number(a).subtract(number(mod(a, b))).divide(number(b));
    }

    static Object mod(Object a, Object b) {
        return number(b).signum() == 0 ? a : number(a).mod(number(b).abs());
    }

    static Object wrap(Object a, int bits, boolean signed) {
        BigInteger all = BigInteger.ONE.shiftLeft(bits);
        BigInteger rest = number(a).mod(all);
        return signed && rest.testBit(bits - 1) ? rest.subtract(all) : rest;
    }

    static Object shift(Object a, Object by, int bits, boolean left) {
        int amount = number(by).mod(BigInteger.valueOf(bits)).intValue();
        return left ? number(a).shiftLeft(amount) : number(a).shiftRight(amount);
    }

    /** A map with a value for every key. */
    static final class Everywhere {
        final Object other;
        final HashMap<Object, Object> listed;

        Everywhere(Object other, HashMap<Object, Object> listed) {
            this.other = other;
            this.listed = listed;
        }

        @Override public boolean equals(Object o) {
            return o instanceof Everywhere && ((Everywhere) o).other.equals(other) && ((Everywhere) o).listed.equals(listed);
        }

        @Override public int hashCode() { return listed.hashCode(); }
    }

    static Object everywhere(Object other) { return new Everywhere(other, new HashMap<>()); }

    static Object select(Object map, Object key) {
        Everywhere m = (Everywhere) map;
        return m.listed.getOrDefault(key, m.other);
    }

    static Object store(Object map, Object key, Object value) {
        Everywhere m = (Everywhere) map;
        HashMap<Object, Object> listed = new HashMap<>(m.listed);
        if (value.equals(m.other)) listed.remove(key); else listed.put(key, value);
        return new Everywhere(m.other, listed);
    }

    @SuppressWarnings("unchecked")
    static HashSet<Object> set(Object a) { return new HashSet<>((HashSet<Object>) a); }

    static Object insert(Object a, Object s) { HashSet<Object> out = set(s); out.add(a); return out; }
    static Object union(Object a, Object b) { HashSet<Object> out = set(a); out.addAll(set(b)); return out; }
    static Object minus(Object a, Object b) { HashSet<Object> out = set(a); out.removeAll(set(b)); return out; }

    @SuppressWarnings("unchecked")
    static ArrayList<Object> items(Object a) { return (ArrayList<Object>) a; }

    static Object list(Object... of) { return new ArrayList<>(Arrays.asList(of)); }
    static Object concat(Object a, Object b) { ArrayList<Object> out = new ArrayList<>(items(a)); out.addAll(items(b)); return out; }

    static Object at(Object s, Object i, Object none) {
        boolean inside = number(i).signum() >= 0 && number(i).compareTo(BigInteger.valueOf(items(s).size())) < 0;
        return inside ? items(s).get(number(i).intValue()) : none;
    }

    static Object slice(Object s, Object from, Object to) {
        int size = items(s).size();
        int low = number(from).max(BigInteger.ZERO).min(BigInteger.valueOf(size)).intValue();
        int high = number(to).max(BigInteger.valueOf(low)).min(BigInteger.valueOf(size)).intValue();
        return new ArrayList<>(items(s).subList(low, high));
    }

    static final Object turns = new Object();
    static int turn;

    static void waitFor(int step) {
        synchronized (turns) {
            try {
                while (turn != step) turns.wait();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    static void done() {
        synchronized (turns) {
            turn++;
            turns.notifyAll();
        }
    }

    static void must(boolean holds, String what) {
        if (!holds) end("the run cannot be followed: " + what, 2);
    }

    static void end(String what, int code) {
        System.out.println(what);
        System.out.flush();
        Runtime.getRuntime().halt(code);
    }
}
