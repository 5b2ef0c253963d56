/** Splits a line into words like a POSIX shell, without expansions. Null when a quotation is not closed. */
export function splitWords(line: string): string[] | null {
  const words: string[] = []
  let word: string | null = null
  let quote: '"' | "'" | null = null
  for (let at = 0; at < line.length; at++) {
    const char = line.charAt(at)
    if (quote === "'") {
      if (char === "'") quote = null
      else word += char
    } else if (char === '\\' && (quote === null || '"\\'.includes(line.charAt(at + 1)))) {
      if (at + 1 >= line.length) return null
      word = (word ?? '') + line.charAt(++at)
    } else if (quote === '"') {
      if (char === '"') quote = null
      else word += char
    } else if (char === '"' || char === "'") {
      quote = char
      word ??= ''
    } else if (/\s/.test(char)) {
      if (word !== null) words.push(word)
      word = null
    } else {
      word = (word ?? '') + char
    }
  }
  if (quote !== null) return null
  if (word !== null) words.push(word)
  return words
}
