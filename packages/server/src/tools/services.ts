import type { EventId } from '@parley/protocol'
import type { ImageShrinker } from '../llm/index.ts'
import type { CallNotes, ConversationFiles } from '../workspace/index.ts'
import type { ClientCalls } from './client-calls.ts'
import type { ModelService, VisionService } from './models/services.ts'
import type { SkillService } from './skill-service.ts'
import type { SubAgents } from './sub-agents/sub-agents.ts'

/**
 * Services of the server for tools. Tools are created without them, so that names and parameters can be checked
 * anywhere; a call
 * that needs a service the agent does not have is an error for the model.
 */
export type ToolServices = {
  /** Path of the browser; absent or null: the one installed where commands run. */
  browser?: { executable: string | null }
  /** Notes of the conversation's calls. Absent: the agent has no tool that changes files. */
  notes?: CallNotes
  /** Makes large images smaller. Absent: they are refused. */
  shrinker?: ImageShrinker
  /** Files of the conversation outside of its workspace. Absent: the agent has no tool that keeps one. */
  files?: ConversationFiles
  /** True: a file is checked for syntax errors after an edit. */
  checksSyntax?: boolean
  /** Absent: no client can post a result. */
  clientCalls?: ClientCalls
  /** Skills that the agent may invoke by name. */
  skills?: SkillService
  /** Absent: the agent's model is fixed. */
  models?: ModelService
  /** Absent: the agent has no model with vision. */
  vision?: VisionService
  /** Absent: the agent cannot start sub-agents. */
  subAgents?: SubAgents
  /**
   * Masks every secret of the conversation in a text stored outside its log. Absent: the caller masks the secrets it
   * knows.
   */
  hide?: (text: string) => Promise<string>
  /** Shows the output of a command while it runs. `end` resolves when all of it was shown. */
  liveOutput?: { add: (call: EventId, text: string) => void; end: (call: EventId) => Promise<void> }
  /** Reports that a command with secrets failed: cached values of these secrets may be outdated. */
  secretsFailed?: (command: string) => void
}
