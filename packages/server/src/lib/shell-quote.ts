/** One word for a POSIX shell: single quotes keep every character, except NUL, which no argument of a program can hold. */
export const shellQuote = (word: string): string => `'${word.replaceAll("'", String.raw`'\''`)}'`
