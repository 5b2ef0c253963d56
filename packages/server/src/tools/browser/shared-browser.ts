/**
 * The browser of one agent: started by the first action, restarted after a crash, ended with the agent.
 *
 * Invariants
 *   B1. Two agents never share a browser: no page, cookie or tab passes from one to the other (F22).
 *   B2. Actions run one after the other. An abandoned action does not block the ones after it.
 */
import { randomUUID } from 'node:crypto'
import { abortable, timeLimit } from '../../lib/index.ts'
import { Refusal } from '../refusal.ts'
import type { ToolContext } from '../tool.ts'
import { launch } from './launch.ts'
import { ActionTimeLimit } from './action-time-limit.ts'
import { Session } from './session.ts'

/** Milliseconds without an action after which the browser is ended. */
const IDLE_MS = 30 * 60_000

export class SharedBrowser {
  /** Lock key of all actions of this browser (B2). */
  readonly key = `browser:${randomUUID()}`
  readonly #timeLimit: ActionTimeLimit
  #session: Session | null = null
  #idle: NodeJS.Timeout | null = null
  #isClosed = false
  #reasonForNew: string | null = null

  constructor(timeLimit: ActionTimeLimit = new ActionTimeLimit()) {
    this.#timeLimit = timeLimit
  }

  /**
   * Runs `work` in the browser within the time limit.
   * @throws Refusal when the browser cannot be started or does not respond; any error of `work`; the signal's reason.
   */
  async use<T>(work: (session: Session) => Promise<T>, context: ToolContext): Promise<T> {
    if (this.#idle !== null) clearTimeout(this.#idle)
    try {
      const session = await this.#open(context)
      return await this.#inTime(work(session), context.signal)
    } finally {
      if (!this.#isClosed && this.#session !== null)
        this.#idle = setTimeout(
          () => void this.#drop('it was not used for half an hour').catch(() => undefined),
          IDLE_MS,
        ).unref()
    }
  }

  async #open(context: ToolContext): Promise<Session> {
    if (this.#session?.isAlive === false) await this.#drop('it had ended by itself')
    if (this.#session !== null) return this.#session
    const session = await Session.of(
      await launch({ executable: context.services?.browser?.executable ?? null }, context),
    )
    if (this.#isClosed) {
      await session.close()
      throw new Refusal('The browser is closed.')
    }
    if (this.#reasonForNew !== null)
      session.note(`This is a new browser without the tabs of the one before, because ${this.#reasonForNew}.`)
    this.#reasonForNew = null
    return (this.#session = session)
  }

  async #inTime<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
    // The result may arrive after the wait ended.
    work.catch(() => undefined)
    const late = new AbortController()
    const { limitMs } = this.#timeLimit
    using _limit = timeLimit(limitMs, () => late.abort())
    try {
      const result = await abortable(work, AbortSignal.any([signal, late.signal]))
      this.#timeLimit.ended()
      return result
    } catch (error) {
      if (signal.aborted) throw error
      if (!late.signal.aborted) {
        this.#timeLimit.ended()
        throw error
      }
      throw new Refusal(await this.#afterTimeout(limitMs))
    }
  }

  async #afterTimeout(limitMs: number): Promise<string> {
    const message = `The browser did not answer within ${limitMs / 1000} seconds.`
    if (!this.#timeLimit.timedOut()) return message
    await this.#drop('it did not answer three times in a row')
    return `${message} That was the third time in a row, so the browser was ended; the next action starts a new one, without its tabs.`
  }

  async #drop(reason: string): Promise<void> {
    const session = this.#session
    this.#session = null
    this.#reasonForNew = reason
    await session?.close()
  }

  /** May be called twice. */
  async close(): Promise<void> {
    this.#isClosed = true
    if (this.#idle !== null) clearTimeout(this.#idle)
    await this.#drop('it was closed')
  }
}
