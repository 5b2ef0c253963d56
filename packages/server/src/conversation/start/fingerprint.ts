import { createHash, type Hash } from 'node:crypto'

/** Characters that are collected before they are hashed: one call for each of many short texts costs more than their hash. */
const CHUNK_LENGTH = 64 * 1024

/** Digest that distinguishes an identical retry from another request with the same id; contains nothing of the body. */
export function fingerprint(body: unknown): string {
  const canonical = new CanonicalHash()
  canonical.add(body)
  return canonical.digest()
}

/** The hash of a JSON text that does not depend on the order of members. The text itself is never in memory as a whole. */
class CanonicalHash {
  readonly #hash: Hash = createHash('sha256')
  #chunk = ''

  add(value: unknown): void {
    if (Array.isArray(value)) this.#addItems(value)
    else if (typeof value === 'object' && value !== null) this.#addMembers(value)
    else this.#write((JSON.stringify(value) as string | undefined) ?? 'null')
  }

  digest(): string {
    return this.#hash.update(this.#chunk).digest('base64url')
  }

  #addItems(items: readonly unknown[]): void {
    for (const [at, item] of items.entries()) {
      this.#write(at === 0 ? '[' : ',')
      this.add(item)
    }
    this.#write(items.length === 0 ? '[]' : ']')
  }

  #addMembers(value: object): void {
    const members = Object.entries(value).filter(([, member]) => member !== undefined)
    members.sort(([a], [b]) => (a < b ? -1 : 1))
    for (const [at, [name, member]] of members.entries()) {
      this.#write(`${at === 0 ? '{' : ','}${JSON.stringify(name)}:`)
      this.add(member)
    }
    this.#write(members.length === 0 ? '{}' : '}')
  }

  #write(text: string): void {
    if (text.length < CHUNK_LENGTH) this.#chunk += text
    else {
      this.#hash.update(this.#chunk).update(text)
      this.#chunk = ''
    }
    if (this.#chunk.length < CHUNK_LENGTH) return
    this.#hash.update(this.#chunk)
    this.#chunk = ''
  }
}
