/** The tools of an agent: its own ones, and those that other servers offer now. */
import type { Draft } from '@parley/protocol'
import type { LlmTool } from '../../llm/index.ts'
import { warning } from '../drafts.ts'
import {
  flatten,
  isAskedForRisk,
  withPredictedFields,
  type PredictedFields,
  type Tool,
  type ToolSource,
} from '../../tools/index.ts'

/** The tools of other servers change between two steps only, so that a model can call the tools that it was offered. */
export class ToolSet {
  /** One map for the whole life of the set; changed in place. */
  readonly byName: Map<string, Tool>
  #own: ReadonlyMap<string, Tool>
  readonly #more: ToolSource | null
  #version = -1
  #predicted: PredictedFields
  #offered: readonly LlmTool[]

  constructor(own: ReadonlyMap<string, Tool>, predicted: PredictedFields, more: ToolSource | null = null) {
    this.byName = new Map(own)
    this.#own = own
    this.#more = more
    this.#predicted = predicted
    this.#offered = this.#shown()
  }

  /** The tools in the form for the model; a new list after a change. */
  get offered(): readonly LlmTool[] {
    return this.#offered
  }

  /** Asks the model for these arguments besides those of the tools. Returns whether anything changed. */
  predict(predicted: PredictedFields): boolean {
    const { risk, summary } = this.#predicted
    if (risk === predicted.risk && summary === predicted.summary) return false
    this.#predicted = predicted
    this.#offered = this.#shown()
    return true
  }

  /** Takes the tools that other servers offer now. Returns whether anything changed. */
  refresh(): boolean {
    const more = this.#more
    if (more === null || more.version === this.#version) return false
    this.#version = more.version
    for (const name of this.byName.keys()) if (!this.#own.has(name)) this.byName.delete(name)
    for (const tool of more.tools(new Set(this.#own.keys()))) this.byName.set(tool.name, tool)
    this.#offered = this.#shown()
    return true
  }

  /**
   * Replaces the own tools by those named in `chosen`. A tool that stays keeps its instance; a removed one is not closed, so it
   * must not hold resources. Returns whether anything changed.
   */
  choose(chosen: ReadonlyMap<string, Tool>): boolean {
    const before = this.#own
    if (chosen.size === before.size && [...chosen.keys()].every((name) => before.has(name))) return false
    this.#own = new Map([...chosen].map(([name, tool]) => [name, before.get(name) ?? tool]))
    const others = [...this.byName].filter(([name]) => !before.has(name) && !this.#own.has(name))
    this.byName.clear()
    for (const [name, tool] of [...this.#own, ...others]) this.byName.set(name, tool)
    this.#offered = this.#shown()
    return true
  }

  /** Waits for the tools of other servers until the signal aborts. */
  async prepare(signal: AbortSignal): Promise<void> {
    await this.#more?.prepare(signal)
  }

  /** Warnings about the tools for people; each is returned once. */
  notices(): Draft[] {
    return (this.#more?.takeNotices() ?? []).map(warning)
  }

  #shown(): readonly LlmTool[] {
    return [...this.byName.values()].map((tool) => shown(tool, this.#predicted))
  }

  /** Closes all tools; failures go to `onFailure`. */
  async close(onFailure: (tool: string, error: unknown) => void): Promise<void> {
    const close = async (name: string, closable: { [Symbol.asyncDispose]?(): PromiseLike<void> } | null) => {
      try {
        await closable?.[Symbol.asyncDispose]?.()
      } catch (error) {
        onFailure(name, error)
      }
    }
    for (const tool of this.#own.values()) await close(tool.name, tool)
    await close('tools of other servers', this.#more)
  }
}

/** Schemas of clients and MCP servers are flat already. */
function shown(tool: Tool, { risk, summary }: PredictedFields): LlmTool {
  const { name, definition, parameters, freeform } = tool
  const isForeign = definition.kind === 'ClientTool' || definition.kind === 'MCPToolDefinition'
  const schema = isForeign ? parameters : flatten(parameters)
  const asked = { risk: isAskedForRisk(tool, risk), summary }
  const { description } = definition
  return { name, description, parameters: withPredictedFields(schema, asked), ...(freeform && { freeform }) }
}
