import type { ClientCalls } from './client-calls.ts'
import type { ModelService, VisionService } from './models/services.ts'
import type { SkillService } from './skill-service.ts'
import type { SubAgents } from './sub-agents/sub-agents.ts'

/**
 * What a tool may ask of the rest of the server. A tool is made without any of it, so that names and parameters can be checked
 * anywhere; a service that a call needs and the agent does not have is an error the model reads.
 */
export type ToolServices = {
  /** Where the browser is; absent or null: the one that is installed where commands run. */
  browser?: { executable: string | null }
  /** Absent: no client can bring a result. */
  clientCalls?: ClientCalls
  /** Skills that the agent may ask for by name. */
  skills?: SkillService
  /** Absent: the agent has the one model that it was given. */
  models?: ModelService
  /** Absent: nobody looks at images for it. */
  vision?: VisionService
  /** Absent: the agent cannot have others work for it. */
  subAgents?: SubAgents
  /** Hides every secret of the conversation in a text that is kept outside of its log. Absent: the caller hides what it knows. */
  hide?: (text: string) => Promise<string>
  /** A command that named secrets has failed: values that were looked up for it may be old. */
  secretsFailed?: (command: string) => void
}
