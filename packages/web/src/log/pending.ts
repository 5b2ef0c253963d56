/** Messages of this page that the server has not stored yet. Pure. */

export type PendingMessage = {
  /** Id of the event, chosen by the page. */
  readonly id: string
  readonly key: string
  readonly text: string
  readonly images: readonly string[]
  /** `waiting`: the page is offline and sends it when it is back. */
  readonly status: 'sending' | 'waiting' | 'sent'
  /** Milliseconds since 1970. */
  readonly at: number
}

export class PendingMessages {
  #items: readonly PendingMessage[] = []
  /** Keys of all messages that this page sent, also after they were stored. */
  readonly #keys = new Map<string, string>()
  readonly #changed: () => void

  constructor(changed: () => void) {
    this.#changed = changed
  }

  readonly items = (): readonly PendingMessage[] => this.#items

  /** Adds a message, whose row is shown at once. */
  add(message: Omit<PendingMessage, 'key'>): void {
    const key = `p${message.id}`
    this.#keys.set(message.id, key)
    this.#items = [...this.#items, { ...message, key }]
    this.#changed()
  }

  /** Sets the status of a message that is still pending. */
  mark(id: string, status: PendingMessage['status']): void {
    this.#items = this.#items.map((item) => (item.id === id ? { ...item, status } : item))
    this.#changed()
  }

  /** Removes a message that failed. */
  remove(id: string): void {
    this.#items = this.#items.filter((item) => item.id !== id)
    this.#changed()
  }

  /** Removes a message that is stored now; its key, or null for a message of another page. */
  stored(id: string): string | null {
    const key = this.#keys.get(id) ?? null
    if (key !== null) this.#items = this.#items.filter((item) => item.id !== id)
    return key
  }
}
