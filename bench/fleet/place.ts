/** Parts of the measurements of several nodes: conversations with their clients, turns, and processor time. */
import { readdir, readFile } from 'node:fs/promises'
import { callAt } from '../../packages/server/testing/fleet-node.ts'
import { followFleet, type FleetFollower } from '../../packages/server/testing/fleet-follower.ts'
import { agentOf } from '../harness.ts'

/** A measured ratio or difference, and its bar. `isMet` null: there is no bar. */
export type Row = { name: string; value: string; bar: string; isMet: boolean | null }

export function row(name: string, value: number, most: number, unit = '×'): Row {
  const text = Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(2)
  return { name, value: `${text} ${unit}`, bar: `at most ${most} ${unit}`, isMet: value <= most }
}

export function rowAtLeast(name: string, value: number, least: number): Row {
  return { name, value: `${value.toFixed(2)} ×`, bar: `at least ${least} ×`, isMet: value >= least }
}

export const note = (name: string, value: string): Row => ({ name, value, bar: '', isMet: null })

/** One conversation with a workspace on the machine of its node, and a client. */
export class Talk implements AsyncDisposable {
  readonly id: string
  readonly follower: FleetFollower
  readonly #url: string
  #turns = 0

  private constructor(url: string, id: string) {
    this.#url = url
    this.id = id
    this.follower = followFleet(url, id)
  }

  /** @param stream whether the model is asked for its answer in pieces */
  static async open(url: string, model: { url: string }, workingDir: string, stream = false): Promise<Talk> {
    const agent = agentOf(model)
    const { status, body } = await callAt(url, 'POST', '/api/conversations', {
      workspace: { working_dir: workingDir },
      agent: { ...agent, llm: { ...agent.llm, stream } },
      autotitle: false,
    })
    if (status !== 201) throw new Error(`creating a conversation answered ${status}: ${JSON.stringify(body)}`)
    return new Talk(url, body.id)
  }

  /** Milliseconds of one turn, from sending its message to the end at the client. */
  async turn(): Promise<number> {
    const from = performance.now()
    const content = [{ type: 'text', text: 'go' }]
    const { status } = await callAt(this.#url, 'POST', `/api/conversations/${this.id}/events`, { content, run: true })
    if (status !== 200) throw new Error(`a message answered ${status}`)
    await this.follower.untilFinished((this.#turns += 1))
    return performance.now() - from
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.follower[Symbol.asyncDispose]()
  }
}

/** Processor time of processes and all their descendants, in milliseconds; of descendants that have ended too, when their parent has waited for them. */
export async function processorMs(pids: readonly number[]): Promise<number> {
  const parents = new Map<number, { parent: number; ticks: number }>()
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const text = await readFile(`/proc/${name}/stat`, 'utf8').catch(() => null)
    if (text === null) continue
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    const ticks = [11, 12, 13, 14].reduce((sum, at) => sum + Number(fields[at]), 0)
    parents.set(Number(name), { parent: Number(fields[1]), ticks })
  }
  const isBelow = (pid: number): boolean => {
    if (pids.includes(pid)) return true
    const known = parents.get(pid)
    return known !== undefined && known.parent > 1 && isBelow(known.parent)
  }
  const TICK_MS = 10
  return [...parents].reduce((sum, [pid, { ticks }]) => (isBelow(pid) ? sum + ticks * TICK_MS : sum), 0)
}
