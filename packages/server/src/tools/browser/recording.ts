/** Images of a tab, taken while it changes and written to the workspace when the recording stops. */
import { join } from 'node:path'
import type { CDPSession, Page } from 'playwright-core'
import type { ToolContext } from '../tool.ts'

const MAX_FRAMES = 600
const MAX_BYTES = 50 * 1024 * 1024

export class Recording {
  readonly #session: CDPSession
  readonly #frames: Buffer[] = []
  readonly #begun = performance.now()
  #bytes = 0
  #isFull = false

  private constructor(session: CDPSession) {
    this.#session = session
  }

  static async start(page: Page): Promise<Recording> {
    const session = await page.context().newCDPSession(page)
    const recording = new Recording(session)
    session.on('Page.screencastFrame', ({ data, sessionId }: { data: string; sessionId: number }) => {
      recording.#take(Buffer.from(data, 'base64'))
      session.send('Page.screencastFrameAck', { sessionId }).catch(() => undefined)
    })
    await session.send('Page.startScreencast', { format: 'jpeg', quality: 60, maxWidth: 1280, maxHeight: 800 })
    return recording
  }

  #take(frame: Buffer): void {
    this.#isFull ||= this.#frames.length >= MAX_FRAMES || this.#bytes + frame.length > MAX_BYTES
    if (this.#isFull) return
    this.#frames.push(frame)
    this.#bytes += frame.length
  }

  /** Writes the images and returns a message with their folder. */
  async stop({ workspace, callId, signal }: ToolContext): Promise<string> {
    const seconds = Math.round((performance.now() - this.#begun) / 1000)
    this.abandon()
    const folder = join(workspace.workingDir, '.agents_tmp', 'recordings', callId.replaceAll(/[^\w-]/g, '_'))
    for (const [index, frame] of this.#frames.entries())
      await workspace.writeFile(join(folder, `${String(index + 1).padStart(4, '0')}.jpg`), frame, signal)
    const cut = this.#isFull ? ' The later part of it was left out, because it became too long.' : ''
    if (this.#frames.length === 0) return `Recorded ${seconds} seconds in which nothing was drawn.`
    return `Recorded ${seconds} seconds: ${this.#frames.length} pictures in ${folder}.${cut}`
  }

  /** Stops without a result. */
  abandon(): void {
    this.#session.detach().catch(() => undefined)
  }
}
