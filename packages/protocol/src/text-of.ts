type Part = { readonly type: string; readonly text?: string | undefined }

/**
 * Returns the text of content parts, joined with `separator` (default: a line break).
 * @param options `other` replaces each part that is not text, such as an image; by default such parts are left out
 */
export function textOf(content: readonly Part[], options: { separator?: string; other?: string } = {}): string {
  const { separator = '\n', other } = options
  const texts = content.map(({ type, text }) => (type === 'text' ? (text ?? '') : other))
  return texts.filter((text) => text !== undefined).join(separator)
}
