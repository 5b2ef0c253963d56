/** Tools without a view of their own: arguments and result as a tree. */
import { Plug, Puzzle, Wrench, Bot } from '../../ui/icons.ts'
import { membersOf, textOf } from '../../log/read.ts'
import { conversation as words } from '../../words/conversation.en.ts'
import type { Call } from '../call.ts'
import { argumentsOf } from './arguments.ts'
import { lazyBody } from './lazy-body.tsx'
import type { ToolView } from './view.ts'

/** The shortest text among the arguments that says what the call is about. */
function aboutOf(call: Call): string {
  const values = Object.values(membersOf(argumentsOf(call))).filter(
    (value) => typeof value === 'string' && value !== '',
  )
  return values.map(textOf).sort((a, b) => a.length - b.length)[0] ?? ''
}

export const unknown: ToolView = {
  icon: Wrench,
  summary: (call) => ({ verb: words.called, object: [call.tool, aboutOf(call)].filter(Boolean).join(' ') }),
  Body: lazyBody('ArgumentsBody'),
}

export const mcp: ToolView = { ...unknown, icon: Plug }
export const clientTool: ToolView = {
  ...unknown,
  icon: Puzzle,
  summary: (call) => ({ ...unknown.summary(call), facts: call.answer === undefined ? words.waitsForClient : null }),
}
export const external: ToolView = {
  ...unknown,
  summary: (call) => ({ verb: words.called, object: call.tool, facts: null }),
}

export const subAgent: ToolView = {
  icon: Bot,
  summary: (call) => ({
    verb: call.status === 'running' ? words.delegates : words.delegated,
    object:
      textOf(call.action['description']) || textOf(call.action['name']) || textOf(call.action['prompt']) || call.tool,
    facts: textOf(call.observation['status']) || null,
  }),
  Body: lazyBody('SubAgentBody'),
}
