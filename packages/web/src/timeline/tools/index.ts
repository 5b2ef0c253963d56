/** The views of tools by the kind of their action. */
import type { Call } from '../call.ts'
import { browser } from './browser.tsx'
import { edit, reading } from './edit.tsx'
import { search } from './search.tsx'
import { tasks } from './tasks.tsx'
import { terminal } from './terminal.tsx'
import { clientTool, external, mcp, subAgent, unknown } from './unknown.tsx'
import type { ToolView } from './view.ts'

const VIEWS: Readonly<Record<string, ToolView>> = {
  TerminalAction: terminal,
  FileEditorAction: edit,
  PlanningFileEditorAction: edit,
  EditAction: edit,
  WriteFileAction: edit,
  ApplyPatchAction: edit,
  ReadFileAction: reading,
  GrepAction: search,
  GlobAction: search,
  ListDirectoryAction: search,
  TaskTrackerAction: tasks,
  MCPToolAction: mcp,
  TaskAction: subAgent,
  DelegateAction: subAgent,
  WorkflowAction: subAgent,
  ACPToolCall: external,
}

/** The view of a call; one that shows its arguments when the tool has none. */
export function viewOf({ kind, action }: Call): ToolView {
  if (kind.startsWith('Browser')) return browser
  if (kind.startsWith('ClientAction_')) return clientTool
  if (kind === 'FileEditorAction' && action['command'] === 'view') return reading
  return VIEWS[kind] ?? unknown
}
