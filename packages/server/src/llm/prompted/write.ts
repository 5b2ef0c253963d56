/**
 * Converts a request with tools to one without: tools, calls and results become text. Pure. Source: agent-core.md 1.14.
 */
import { parseRecord } from '../../lib/index.ts'
import type { LlmImage, LlmMessage, LlmText, LlmTool } from '../llm.ts'

type Parts = (LlmText | LlmImage)[]

const HOW_TO_CALL = `You call a tool by ending your answer with one block of this form, and nothing after it:

<function=NAME>
<parameter=FIRST>value</parameter>
<parameter=SECOND>
a value of
several lines
</parameter>
</function>

- One call in each answer. Its result comes with the next message; then you go on.
- Give every required parameter. Values are plain text: quote and escape nothing. Lists and objects are written as JSON.
- Say what you think before the block, never inside or behind it.
- When no tool is needed, answer without a block.`

/** Precedes the user's first message, for models that were not trained on this format. */
const EXAMPLE = (tool: string) => `An example of the form, which has nothing to do with your task:

USER: How many lines does notes.txt have?

ASSISTANT: I count them.

<function=${tool}>
<parameter=command>wc -l notes.txt</parameter>
</function>

USER: EXECUTION RESULT of [${tool}]:
7 notes.txt

ASSISTANT: notes.txt has 7 lines.

The example ends here. What follows is your task.
---
`

/** Families that were trained on this format; an example only confuses them. */
const TRAINED = /openhands-lm|devstral|nemotron/i

/** Returns the messages of a request, without calls and results. */
export function promptedMessages(
  messages: readonly LlmMessage[],
  tools: readonly LlmTool[],
  model: string,
): LlmMessage[] {
  const example = TRAINED.test(model) ? undefined : tools.find(({ name }) => name === 'terminal')
  const out: LlmMessage[] = []
  let isFirst = true
  const user = (content: Parts) => {
    const last = out.at(-1)
    // Results and a user message after them are one turn.
    if (last?.role === 'user') out[out.length - 1] = { role: 'user', content: [...last.content, ...content] }
    else out.push({ role: 'user', content })
  }
  const start = messages.findLastIndex((message, at) => message.role === 'system' && isLeading(messages, at))
  if (start === -1) out.push({ role: 'system', content: [{ type: 'text', text: catalogue(tools) }] })
  for (const [at, message] of messages.entries()) {
    switch (message.role) {
      case 'system':
        out.push(at === start ? withCatalogue(message.content, tools) : message)
        break
      case 'user':
        user(
          isFirst && example !== undefined
            ? [{ type: 'text', text: EXAMPLE(example.name) }, ...message.content]
            : message.content,
        )
        isFirst = false
        break
      case 'assistant':
        out.push(withCalls(message))
        break
      case 'tool':
        user(resultOf(message))
    }
  }
  return out
}

const isLeading = (messages: readonly LlmMessage[], at: number): boolean =>
  messages.slice(0, at).every(({ role }) => role === 'system')

/** The tools are the same for many conversations, so they are added to the first part, before its cache breakpoint. */
function withCatalogue(content: readonly LlmText[], tools: readonly LlmTool[]): LlmMessage {
  const [first, ...rest] = content
  const text = `${first?.text ?? ''}\n\n${catalogue(tools)}`
  return { role: 'system', content: [{ ...first, type: 'text', text }, ...rest] }
}

function catalogue(tools: readonly LlmTool[]): string {
  return `<tools>\n${HOW_TO_CALL}\n\nThe tools:\n\n${tools.map(described).join('\n\n')}\n</tools>`
}

function described({ name, description, parameters }: LlmTool): string {
  const properties = (parameters['properties'] ?? {}) as Record<string, Record<string, unknown>>
  const required = new Set((parameters['required'] ?? []) as string[])
  const lines = Object.entries(properties).map(([key, { description: about, ...schema }]) => {
    const words = typeof about === 'string' ? ` ${about}` : ''
    return `- ${key} (${required.has(key) ? 'required' : 'optional'}, ${typeOf(schema)}):${words}`
  })
  return `## ${name}\n${description}\n${lines.length === 0 ? 'It has no parameters.' : `Parameters:\n${lines.join('\n')}`}`
}

function typeOf({ type, enum: words, ...rest }: Record<string, unknown>): string {
  if (Array.isArray(words)) return `one of ${words.map((word) => JSON.stringify(word)).join(', ')}`
  if (typeof type === 'string' && type !== 'array' && type !== 'object') return type
  return `JSON of the schema ${JSON.stringify({ type, ...rest })}`
}

function withCalls(message: Extract<LlmMessage, { role: 'assistant' }>): LlmMessage {
  if (message.toolCalls.length === 0) return message
  const texts = message.content.map((part) => part.text).filter((text) => text.trim() !== '')
  const text = [...texts, ...message.toolCalls.map(blockOf)].join('\n\n')
  return { ...message, content: [{ type: 'text', text }], toolCalls: [] }
}

/** Returns a call as the model itself would write it. */
export function blockOf({ name, arguments: text }: { name: string; arguments: string }): string {
  const lines = Object.entries(parseRecord(text) ?? {}).map(([key, value]) => {
    const plain = typeof value === 'string' ? value : JSON.stringify(value)
    return plain.includes('\n')
      ? `<parameter=${key}>\n${plain}\n</parameter>`
      : `<parameter=${key}>${plain}</parameter>`
  })
  return [`<function=${name}>`, ...lines, '</function>'].join('\n')
}

function resultOf({ toolName, content }: Extract<LlmMessage, { role: 'tool' }>): Parts {
  const text = content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
  return [
    { type: 'text', text: `EXECUTION RESULT of [${toolName}]:\n${text}` },
    ...content.filter((part) => part.type === 'image'),
  ]
}
