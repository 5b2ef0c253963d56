/** Observations of actions. Closed models; names and defaults are those of agent-server-wire.md 4.5 and 4.8. */
import { z } from 'zod'
import { ErrorClassification } from '../error-classification.ts'
import { EventId } from '../ids.ts'
import { EditCommand, TaskItem } from './action.ts'
import { EventSource, orNull, treeFields } from './base.ts'
import { ContentPart, TextContent } from './message.ts'

/** Members of every observation. */
const result = { content: z.array(ContentPart).default([]), is_error: z.boolean().default(false) }

export const CmdOutputMetadata = z.strictObject({
  exit_code: z.int().default(-1),
  pid: z.int().default(-1),
  username: orNull(z.string()),
  hostname: orNull(z.string()),
  working_dir: orNull(z.string()),
  py_interpreter_path: orNull(z.string()),
  prefix: z.string().default(''),
  suffix: z.string().default(''),
})
/** Environment of a command; clients show `prefix` and `suffix` around its output. */
export type CmdOutputMetadata = z.infer<typeof CmdOutputMetadata>

export const TerminalObservation = z.strictObject({
  kind: z.literal('TerminalObservation'),
  ...result,
  command: z.string().nullable(),
  exit_code: orNull(z.int()),
  timeout: z.boolean().default(false),
  metadata: CmdOutputMetadata.prefault({}),
  full_output_save_dir: orNull(z.string()),
})
export type TerminalObservation = z.infer<typeof TerminalObservation>

const editResult = {
  command: EditCommand,
  path: orNull(z.string()),
  prev_exist: z.boolean().default(true),
  old_content: orNull(z.string()),
  new_content: orNull(z.string()),
}
export const FileEditorObservation = z.strictObject({
  kind: z.literal('FileEditorObservation'),
  ...result,
  ...editResult,
})
export type FileEditorObservation = z.infer<typeof FileEditorObservation>

export const PlanningFileEditorObservation = z.strictObject({
  kind: z.literal('PlanningFileEditorObservation'),
  ...result,
  ...editResult,
})

export const TaskTrackerObservation = z.strictObject({
  kind: z.literal('TaskTrackerObservation'),
  ...result,
  command: z.enum(['view', 'plan']),
  task_list: z.array(TaskItem).default([]),
})
export type TaskTrackerObservation = z.infer<typeof TaskTrackerObservation>

export const FinishObservation = z.strictObject({ kind: z.literal('FinishObservation'), ...result })
export type FinishObservation = z.infer<typeof FinishObservation>

export const ThinkObservation = z.strictObject({ kind: z.literal('ThinkObservation'), ...result })
export type ThinkObservation = z.infer<typeof ThinkObservation>

export const InvokeSkillObservation = z.strictObject({
  kind: z.literal('InvokeSkillObservation'),
  ...result,
  skill_name: z.string(),
})

export const SwitchLLMObservation = z.strictObject({
  kind: z.literal('SwitchLLMObservation'),
  ...result,
  profile_name: z.string(),
  reason: orNull(z.string()),
  active_model: orNull(z.string()),
})

export const VisionInspectObservation = z.strictObject({
  kind: z.literal('VisionInspectObservation'),
  ...result,
  image_index: z.int(),
  question: z.string(),
  profile_name: orNull(z.string()),
  model: orNull(z.string()),
  base_url: orNull(z.string()),
  answer: orNull(z.string()),
})

export const TaskObservation = z.strictObject({
  kind: z.literal('TaskObservation'),
  ...result,
  task_id: z.string(),
  subagent: z.string(),
  status: z.string(),
})

export const WorkflowObservation = z.strictObject({
  kind: z.literal('WorkflowObservation'),
  ...result,
  name: z.string(),
  status: z.enum(['completed', 'error']),
})

export const DelegateObservation = z.strictObject({
  kind: z.literal('DelegateObservation'),
  ...result,
  command: z.enum(['spawn', 'delegate']),
})

export const GlobObservation = z.strictObject({
  kind: z.literal('GlobObservation'),
  ...result,
  files: z.array(z.string()),
  pattern: z.string(),
  search_path: z.string(),
  truncated: z.boolean().default(false),
})
export type GlobObservation = z.infer<typeof GlobObservation>

export const GrepObservation = z.strictObject({
  kind: z.literal('GrepObservation'),
  ...result,
  matches: z.array(z.string()),
  pattern: z.string(),
  search_path: z.string(),
  include_pattern: orNull(z.string()),
  truncated: z.boolean().default(false),
})
export type GrepObservation = z.infer<typeof GrepObservation>

export const EditObservation = z.strictObject({
  kind: z.literal('EditObservation'),
  ...result,
  file_path: orNull(z.string()),
  is_new_file: z.boolean().default(false),
  replacements_made: z.int().default(0),
  old_content: orNull(z.string()),
  new_content: orNull(z.string()),
})

export const FileEntry = z.strictObject({
  name: z.string(),
  path: z.string(),
  is_directory: z.boolean(),
  size: z.int(),
  modified_time: z.string(),
})
export type FileEntry = z.infer<typeof FileEntry>

export const ListDirectoryObservation = z.strictObject({
  kind: z.literal('ListDirectoryObservation'),
  ...result,
  dir_path: orNull(z.string()),
  entries: z.array(FileEntry).default([]),
  total_count: z.int().default(0),
  is_truncated: z.boolean().default(false),
})

export const ReadFileObservation = z.strictObject({
  kind: z.literal('ReadFileObservation'),
  ...result,
  file_path: z.string(),
  file_content: z.string().default(''),
  is_truncated: z.boolean().default(false),
  lines_shown: orNull(z.tuple([z.int(), z.int()])),
  total_lines: orNull(z.int()),
})

export const WriteFileObservation = z.strictObject({
  kind: z.literal('WriteFileObservation'),
  ...result,
  file_path: orNull(z.string()),
  is_new_file: z.boolean().default(false),
  old_content: orNull(z.string()),
  new_content: orNull(z.string()),
})

export const BrowserObservation = z.strictObject({
  kind: z.literal('BrowserObservation'),
  ...result,
  screenshot_data: orNull(z.string()),
  full_output_save_dir: orNull(z.string()),
})

export const MCPToolObservation = z.strictObject({
  kind: z.literal('MCPToolObservation'),
  ...result,
  tool_name: z.string(),
})
export type MCPToolObservation = z.infer<typeof MCPToolObservation>

export const ClientToolObservation = z.strictObject({ kind: z.literal('ClientToolObservation'), ...result })
export type ClientToolObservation = z.infer<typeof ClientToolObservation>

export const ApplyPatchObservation = z.strictObject({
  kind: z.literal('ApplyPatchObservation'),
  ...result,
  message: z.string().default(''),
  fuzz: z.int().default(0),
  commit: orNull(z.record(z.string(), z.unknown())),
})

export const Observation = z.discriminatedUnion('kind', [
  TerminalObservation,
  FileEditorObservation,
  TaskTrackerObservation,
  FinishObservation,
  ThinkObservation,
  InvokeSkillObservation,
  SwitchLLMObservation,
  VisionInspectObservation,
  TaskObservation,
  WorkflowObservation,
  DelegateObservation,
  GlobObservation,
  GrepObservation,
  PlanningFileEditorObservation,
  EditObservation,
  ListDirectoryObservation,
  ReadFileObservation,
  WriteFileObservation,
  BrowserObservation,
  MCPToolObservation,
  ClientToolObservation,
  ApplyPatchObservation,
])
export type Observation = z.infer<typeof Observation>

/** Members of every result of an action. */
const answer = { tool_name: z.string(), tool_call_id: z.string() }

export const ObservationEvent = z.strictObject({
  kind: z.literal('ObservationEvent'),
  ...treeFields,
  source: EventSource.default('environment'),
  ...answer,
  observation: Observation,
  /** The ActionEvent of this result. */
  action_id: EventId,
  /** Text that path-triggered rules added. */
  extended_content: z.array(TextContent).default([]),
})
export type ObservationEvent = z.infer<typeof ObservationEvent>

export const UserRejectObservation = z.strictObject({
  kind: z.literal('UserRejectObservation'),
  ...treeFields,
  source: EventSource.default('environment'),
  ...answer,
  rejection_reason: z.string().default('User rejected the action'),
  rejection_source: z.enum(['user', 'hook']).default('user'),
  action_id: EventId,
})
/** Result of an action that a person or a hook refused. */
export type UserRejectObservation = z.infer<typeof UserRejectObservation>

export const AgentErrorEvent = z.strictObject({
  kind: z.literal('AgentErrorEvent'),
  ...treeFields,
  source: EventSource.default('agent'),
  ...answer,
  /** Shown to the model. */
  error: z.string(),
  classification: orNull(ErrorClassification),
})
/** Result of an action that could not be executed, matched by `tool_call_id`. */
export type AgentErrorEvent = z.infer<typeof AgentErrorEvent>
