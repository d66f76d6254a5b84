// Interfaces of one method.
interface Callable<V> { V call() throws Exception; }
interface Supplier<T> { T get(); }
interface Consumer<T> { void accept(T value); }
interface BiConsumer<T, U> { void accept(T first, U second); }
interface Function<T, R> { R apply(T value); }
interface BiFunction<T, U, R> { R apply(T first, U second); }
interface UnaryOperator<T> { T apply(T value); }
interface BinaryOperator<T> { T apply(T first, T second); }
interface Predicate<T> { boolean test(T value); }
interface BooleanSupplier { boolean getAsBoolean(); }
interface IntSupplier { int getAsInt(); }
interface LongSupplier { long getAsLong(); }
interface IntConsumer { void accept(int value); }
interface IntPredicate { boolean test(int value); }
interface IntFunction<R> { R apply(int value); }
interface ToIntFunction<T> { int applyAsInt(T value); }
interface IntUnaryOperator { int applyAsInt(int value); }
interface IntBinaryOperator { int applyAsInt(int first, int second); }
interface LongUnaryOperator { long applyAsLong(long value); }
interface LongBinaryOperator { long applyAsLong(long first, long second); }
