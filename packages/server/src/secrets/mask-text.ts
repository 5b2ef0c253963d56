/** Stands where a secret value stood. */
export const MASK = '<secret-hidden>'

/** `text` with every match of `pattern` masked. Masks that `text` holds already stay as they are. */
export const masked = (text: string, pattern: RegExp): string =>
  text
    .split(MASK)
    .map((piece) => piece.replace(pattern, MASK))
    .join(MASK)
