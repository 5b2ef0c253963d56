/**
 * JSON-RPC over the pipes of a process in a workspace, one message per line. Lines that are not JSON are skipped,
 * because programs
 * print greetings; a line without end closes the connection.
 */
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client'
import { abortable } from '../../lib/index.ts'
import type { Process } from '../../workspace/index.ts'

const MAX_LINE_BYTES = 16 * 1024 * 1024
/** Characters of the program's standard error that are kept, for the reason of a failed start. */
const MAX_COMPLAINT_CHARS = 2000
/** Milliseconds to wait for the last output of a program that ended. */
const LAST_OUTPUT_MS = 300

/** The library's functions for reading and writing lines. */
export type Lines = {
  ReadBuffer: new (options: { maxBufferSize: number }) => {
    append(chunk: Buffer): void
    readMessage(): JSONRPCMessage | null
  }
  serializeMessage(message: JSONRPCMessage): string
}

export class ProcessTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: Transport['onmessage']
  readonly #process: Process
  readonly #lines: Lines
  readonly #input: WritableStreamDefaultWriter<Uint8Array>
  #complaint = ''
  #complained: Promise<void> = Promise.resolve()
  #isClosed = false

  constructor(process: Process, lines: Lines) {
    this.#process = process
    this.#lines = lines
    this.#input = process.stdin.getWriter()
    this.#input.closed.catch(() => undefined)
  }

  /** The last part of the program's standard error. */
  get complaint(): string {
    return this.#complaint.trim()
  }

  async start(): Promise<void> {
    void this.#readMessages()
    this.#complained = this.#readComplaints()
    void this.#process.exited.then(() => this.#ended())
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#isClosed) throw new Error('the program has ended')
    await this.#input.write(Buffer.from(this.#lines.serializeMessage(message)))
  }

  /** Ends the program: first by closing its input, then by signals. Resolves when it ended. */
  async close(): Promise<void> {
    this.#ended()
    await this.#process[Symbol.asyncDispose]()
    // Output may still be on its way; a child of the program can keep the pipe open forever.
    await abortable(this.#complained, AbortSignal.timeout(LAST_OUTPUT_MS)).catch(() => undefined)
  }

  #ended(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.onclose?.()
  }

  async #readMessages(): Promise<void> {
    const buffer = new this.#lines.ReadBuffer({ maxBufferSize: MAX_LINE_BYTES })
    try {
      for await (const chunk of this.#process.stdout) {
        if (this.#isClosed) continue
        buffer.append(Buffer.from(chunk))
        this.#deliver(buffer)
      }
    } catch (error) {
      this.onerror?.(error as Error)
      await this.close()
    }
  }

  #deliver(buffer: InstanceType<Lines['ReadBuffer']>): void {
    for (;;) {
      try {
        const message = buffer.readMessage()
        if (message === null) return
        this.onmessage?.(message)
      } catch (error) {
        // JSON, but no message: skipped like other noise. The buffer has already advanced.
        this.onerror?.(error as Error)
      }
    }
  }

  async #readComplaints(): Promise<void> {
    const decoder = new TextDecoder()
    try {
      for await (const chunk of this.#process.stderr) {
        this.#complaint = (this.#complaint + decoder.decode(chunk, { stream: true })).slice(-MAX_COMPLAINT_CHARS)
      }
    } catch (error) {
      this.onerror?.(error as Error)
    }
  }
}
