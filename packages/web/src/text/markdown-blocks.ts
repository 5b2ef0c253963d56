/** Markdown as blocks of tokens. No DOM: the text comes from agents and from web pages, and never becomes HTML. */
import { Lexer, type Token, type Tokens } from 'marked'

/** A block and the text that it was made of. */
export type Block = { readonly source: string; readonly token: Token }

/** The blocks of a text. Line ends are kept as they are inside of blocks. */
export function blocksOf(text: string): readonly Block[] {
  return new Lexer({ gfm: true, breaks: false })
    .lex(text)
    .filter(({ type }) => type !== 'space')
    .map((token) => ({ source: token.raw, token }))
}

/**
 * The blocks of a text that grows at its end: blocks before the last one are kept as they are, so that a text of any length costs
 * only its last block on each change.
 */
export class GrowingBlocks {
  #closed: readonly Block[] = []
  #closedLength = 0
  #text = ''

  /** The blocks of `text`; blocks of the text before are the same objects when they did not change. */
  read(text: string): readonly Block[] {
    if (!text.startsWith(this.#text)) this.#reset()
    this.#text = text
    const open = blocksOf(text.slice(this.#closedLength))
    // The last two blocks may still change: a list or a table can swallow the line after it.
    const done = open.slice(0, -2)
    const length = this.#lengthOf(done, text)
    if (length > 0) {
      this.#closed = [...this.#closed, ...done]
      this.#closedLength += length
      return [...this.#closed, ...open.slice(done.length)]
    }
    return [...this.#closed, ...open]
  }

  #lengthOf(blocks: readonly Block[], text: string): number {
    let at = this.#closedLength
    for (const { source } of blocks) {
      const next = text.indexOf(source, at)
      if (next === -1) return 0
      at = next + source.length
    }
    return at - this.#closedLength
  }

  #reset(): void {
    this.#closed = []
    this.#closedLength = 0
  }
}

/** Tokens inside of a token. */
export const childrenOf = (token: Token): readonly Token[] => ('tokens' in token ? (token.tokens ?? []) : [])

/** The token as one of a kind; null for another kind. */
export function isKind<K extends keyof Kinds>(token: Token, kind: K): token is Kinds[K] {
  return token.type === kind
}

type Kinds = {
  heading: Tokens.Heading
  code: Tokens.Code
  list: Tokens.List
  table: Tokens.Table
  link: Tokens.Link
  image: Tokens.Image
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: '\u00a0' }

/** The text with the few entities that people write in prose; others stay as they are. */
export function withEntities(text: string): string {
  return text.replace(/&(?:(amp|lt|gt|quot|apos|nbsp)|#(\d{1,7})|#x([\da-f]{1,6}));/gi, (whole, name, decimal, hex) => {
    if (typeof name === 'string') return ENTITIES[name.toLowerCase()] ?? whole
    const code = Number.parseInt(String(decimal ?? hex), decimal === undefined ? 16 : 10)
    const isValid = code > 31 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff)
    return isValid ? String.fromCodePoint(code) : whole
  })
}
