export { SubAgentSupervisor, type SubAgentSupervisorDeps } from './supervisor.ts'
