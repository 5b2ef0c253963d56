/** The tools of an agent: its own, and behind them what others offer as of now. */
import type { Draft } from '@parley/protocol'
import type { LlmTool } from '../../llm/index.ts'
import { flatten, withPredictedFields, type Notice, type Tool, type ToolSource } from '../../tools/index.ts'
import type { Step } from '../agent.ts'

/** The own ones stay; others come and go between two steps, so that what a model was offered is what it can call. */
export class ToolSet {
  /** The same map all the time. */
  readonly byName: Map<string, Tool>
  #own: ReadonlyMap<string, Tool>
  readonly #more: ToolSource | null
  #version = -1
  #offered: readonly LlmTool[]

  constructor(own: ReadonlyMap<string, Tool>, more: ToolSource | null = null) {
    this.byName = new Map(own)
    this.#own = own
    this.#more = more
    this.#offered = [...own.values()].map(shown)
  }

  /** As the model is told of them; another list when they have changed. */
  get offered(): readonly LlmTool[] {
    return this.#offered
  }

  /** Takes what others offer now. True when something has changed. */
  refresh(): boolean {
    const more = this.#more
    if (more === null || more.version === this.#version) return false
    this.#version = more.version
    for (const name of this.byName.keys()) if (!this.#own.has(name)) this.byName.delete(name)
    for (const tool of more.tools(new Set(this.#own.keys()))) this.byName.set(tool.name, tool)
    this.#offered = [...this.byName.values()].map(shown)
    return true
  }

  /**
   * Takes the names of another choice of own tools: those that stay are the same ones, with what they hold, new ones come from
   * `chosen`. Meant for tools that hold nothing. True when something has changed.
   */
  choose(chosen: ReadonlyMap<string, Tool>): boolean {
    const before = this.#own
    if (chosen.size === before.size && [...chosen.keys()].every((name) => before.has(name))) return false
    this.#own = new Map([...chosen].map(([name, tool]) => [name, before.get(name) ?? tool]))
    const others = [...this.byName].filter(([name]) => !before.has(name) && !this.#own.has(name))
    this.byName.clear()
    for (const [name, tool] of [...this.#own, ...others]) this.byName.set(name, tool)
    this.#offered = [...this.byName.values()].map(shown)
    return true
  }

  /** Waits for others as long as the signal lets it. */
  async prepare(signal: AbortSignal): Promise<void> {
    await this.#more?.prepare(signal)
  }

  /** What people should know about the tools, once. */
  notices(): Draft[] {
    return (this.#more?.takeNotices() ?? []).map(warning)
  }

  /** Closes all of them; one that fails is told to `onFailure`. */
  async close(onFailure: (tool: string, error: unknown) => void): Promise<void> {
    const close = async (name: string, what: { [Symbol.asyncDispose]?(): PromiseLike<void> } | null) => {
      try {
        await what?.[Symbol.asyncDispose]?.()
      } catch (error) {
        onFailure(name, error)
      }
    }
    for (const tool of this.#own.values()) await close(tool.name, tool)
    await close('tools of others', this.#more)
  }
}

/** A step that begins when everybody who offers tools has been asked. `begin` is called once the tools are the newest. */
export async function* withTools(tools: ToolSet, signal: AbortSignal, begin: () => Step, tells: boolean): Step {
  await tools.prepare(signal)
  signal.throwIfAborted()
  const step = begin()
  const told = tells ? tools.notices() : []
  if (told.length > 0) yield told
  yield* step
}

/** Something went wrong and nothing ends by it. */
function warning({ code, detail }: Notice): Draft {
  const classification = { kind: 'config' as const, retryable: true, user_action: 'settings' as const, error_id: null }
  return { kind: 'ConversationErrorEvent', source: 'environment', code, detail, classification }
}

/** Schemas that others wrote reach the model as they are; only the two predicted fields are laid over them. */
function shown({ name, definition, parameters, isReadOnly }: Tool): LlmTool {
  const isForeign = definition.kind === 'ClientTool' || definition.kind === 'MCPToolDefinition'
  const schema = isForeign ? parameters : flatten(parameters)
  return { name, description: definition.description, parameters: withPredictedFields(schema, isReadOnly) }
}
