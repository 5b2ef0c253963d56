/** The protocol: schemas of every record and event, and the pure reducer. Depends on zod only and runs anywhere. */
export {
  asConversationId,
  asEventId,
  ConversationId,
  EventId,
  eventTimestamp,
  hexId,
  newConversationId,
  newEventId,
  parseConversationId,
} from './ids.ts'
export {
  ErrorCode,
  HTTPValidationError,
  invalidInput,
  InvalidValue,
  type Misfit,
  ParleyError,
  type Place,
  relocate,
  under,
  unreachable,
  ValidationError,
} from './errors.ts'
export { laxBoolean, laxInt, laxNumber } from './lax.ts'
export { laxConversationId, laxEventTime } from './lax-text.ts'
export { splitWords } from './shell-words.ts'
export {
  findJsonFault,
  JsonScanner,
  MAX_JSON_DEPTH,
  MAX_JSON_VALUES,
  type JsonFault,
  type JsonLimits,
} from './json-scan.ts'
export { limitOf, list, LIST_LIMITS, map, MAX_ISSUES } from './lists.ts'
export { isRecord } from './is-record.ts'
export { kindUnion, tagUnion } from './unions.ts'
export { AGENT_ERROR, classify, ErrorClassification, INTERNAL_ERROR } from './error-classification.ts'
export { ConversationExecutionStatus, ConversationStatus } from './conversation-status.ts'
export { FallbackStrategy, LLM } from './llm.ts'
export type { LLMInput } from './llm.ts'
export { BaseWorkspace, LocalWorkspace, RemoteWorkspace } from './workspace.ts'
export type { BaseWorkspaceInput } from './workspace.ts'
export {
  EnsembleSecurityAnalyzer,
  GraySwanAnalyzer,
  GuardrailLLMSecurityAnalyzer,
  LLMSecurityAnalyzer,
  PatternEntry,
  PatternSecurityAnalyzer,
  PolicyRailSecurityAnalyzer,
  SecurityAnalyzer,
  ToolShieldLLMSecurityAnalyzer,
  VendorAnalyzer,
  readsPrediction,
} from './security.ts'
export { HookConfig, HookDefinition, HookMatcher } from './hooks.ts'
export type { HookConfigInput } from './hooks.ts'
export {
  CreateSecretRequest,
  isReservedSecretName,
  LookupSecret,
  MAX_SECRET_BYTES,
  PutSecretRequest,
  RequestedSecrets,
  SecretItem,
  SecretName,
  SecretRegistry,
  SecretSource,
  SecretValue,
  StaticSecret,
  UpdateSecretRequest,
} from './secrets.ts'
export { MCPAuth, MCPServer, MCPServers } from './mcp.ts'
export { AgentContext, MarketplaceRegistration, Skill, SkillResources, SkillTrigger } from './skills.ts'
export { hasInvocable, isInvocable, skillsInForce, skillType, type SkillType } from './skill-kinds.ts'
export type { AgentContextInput } from './skills.ts'
export { Condenser, LLMSummarizingCondenser, NoOpCondenser, PipelineCondenser } from './condenser.ts'
export { AgentFinishedCritic, APIBasedCritic, Critic, EmptyPatchCritic, PassCritic } from './critic.ts'
export { ACPAgent, ACPFileSecretSpec, Agent, AgentBase, RequestedAgent } from './agent.ts'
export type { ACPAgentInput, AgentBaseInput, AgentInput } from './agent.ts'
export { AgentDefinition } from './agent-definition.ts'
export { Tags } from './tags.ts'
export {
  ACPModelInfo,
  ConversationInfo,
  ConversationPage,
  DEFAULT_PERSISTENCE_DIR,
  LaunchedAgentProfile,
} from './conversation.ts'
export type { ConversationInfoInput } from './conversation.ts'
export {
  AgentLaunchAdditions,
  AskAgentRequest,
  ConfirmationResponseRequest,
  ForkConversationRequest,
  NavigateRequest,
  PluginSource,
  RunRequest,
  SendMessageRequest,
  SetConfirmationPolicyRequest,
  SetSecurityAnalyzerRequest,
  StartConversationRequest,
  UpdateConversationRequest,
} from './requests.ts'
export type { SendEventRequestInput, StartConversationRequestInput } from './requests.ts'
export {
  AlwaysConfirm,
  ConfirmationPolicy,
  ConfirmRisky,
  needsConfirmation,
  NeverConfirm,
  SecurityRisk,
} from './policy.ts'
export type { ConfirmationPolicyInput } from './policy.ts'
export { ClientToolSpec, Tool, ToolAnnotations } from './tool.ts'
export type { ClientToolSpecInput, ToolInput } from './tool.ts'
export { ConversationStats, Cost, Metrics, MetricsSnapshot, ResponseLatency, TokenUsage } from './metrics.ts'

export { EventSource, ParentId, ROOT } from './events/base.ts'
export {
  ContentPart,
  CriticResult,
  ImageContent,
  Message,
  MessageEvent,
  MessageRole,
  MessageToolCall,
  ReasoningItemModel,
  RedactedThinkingBlock,
  SystemPromptEvent,
  textContent,
  TextContent,
  ThinkingBlock,
  ThinkingPart,
  ToolDefinition,
} from './events/message.ts'
export type { MessageInput } from './events/message.ts'
export { AnswerOrigin, AnswerPart, RawAnswer, type ReasoningPart } from './events/raw-answer.ts'
export { BrowserAction } from './events/browser-action.ts'
export {
  Action,
  ActionEvent,
  ApplyPatchAction,
  ClientAction,
  DelegateAction,
  EditAction,
  EditCommand,
  FileEditorAction,
  FinishAction,
  GlobAction,
  GrepAction,
  InvokeSkillAction,
  ListDirectoryAction,
  MCPToolAction,
  PlanningFileEditorAction,
  ReadFileAction,
  SwitchLLMAction,
  TaskAction,
  TaskItem,
  TaskTrackerAction,
  TerminalAction,
  ThinkAction,
  VisionInspectAction,
  WorkflowAction,
  WriteFileAction,
} from './events/action.ts'
export {
  AgentErrorEvent,
  ApplyPatchObservation,
  BrowserObservation,
  ClientToolObservation,
  CmdOutputMetadata,
  DelegateObservation,
  EditObservation,
  FileEditorObservation,
  FileEntry,
  FinishObservation,
  GlobObservation,
  GrepObservation,
  InvokeSkillObservation,
  ListDirectoryObservation,
  MCPToolObservation,
  Observation,
  ObservationEvent,
  PlanningFileEditorObservation,
  ReadFileObservation,
  SwitchLLMObservation,
  TaskObservation,
  TaskTrackerObservation,
  TerminalObservation,
  ThinkObservation,
  UserRejectObservation,
  VisionInspectObservation,
  WorkflowObservation,
  WriteFileObservation,
} from './events/observation.ts'
export { Condensation, CondensationRequest, CondensationSummaryEvent, type GivenBack } from './events/condensation.ts'
export {
  ACPToolCallEvent,
  ConversationErrorEvent,
  ConversationStateUpdateEvent,
  HookEventType,
  HookExecutionEvent,
  InterruptEvent,
  LLMCompletionLogEvent,
  PauseEvent,
  ServerErrorEvent,
  StreamingDeltaEvent,
  TokenEvent,
} from './events/telemetry.ts'
export {
  ApprovalEvent,
  ConfirmationRequestedEvent,
  LeafMovedEvent,
  ModelRetryEvent,
  OpenAction,
  RiskReason,
  StartPhaseEvent,
  StateChangedEvent,
  StatusChangedEvent,
  SubAgentQuestion,
  UsageRecordedEvent,
} from './events/control.ts'
export type { StateKey } from './events/control.ts'
export {
  CONTROL_KINDS,
  ControlEvent,
  Event,
  isControlEvent,
  isTreeEvent,
  readEvent,
  TREE_KINDS,
  TreeEvent,
} from './event.ts'
export type { Draft, StoredEvent, UnknownEvent } from './event.ts'
export { apply, EMPTY_STATE, REDUCER_VERSION, replay } from './state.ts'
export type { AwaitedApproval, ConversationState, DecidedApproval, StartProgress } from './state.ts'
export { ActiveBranch, branch, parentOf, pendingActions } from './branch.ts'
export type { StoredTreeEvent } from './branch.ts'
export { dropNulls, wireEvent, wireKindToStored } from './wire-event.ts'
export type { WireEvent } from './wire-event.ts'
export {
  DeltaFrame,
  EventFrame,
  Frame,
  OutputFrame,
  PartialFrame,
  RefusedFrame,
  SessionFrame,
  SnapshotFrame,
  ToolCallFrame,
} from './frames.ts'

export { MCPConfig, MCPShttpServer, MCPSseServer, MCPStdioServer } from './mcp-config.ts'
export type { MCPConfigInput } from './mcp-config.ts'
export { Settings, SETTINGS_SECRETS, SettingsDefaults, UserSecrets } from './settings.ts'
export type { SettingsInput } from './settings.ts'
export {
  ACPAgentSettings,
  AgentSettings,
  ConversationSettings,
  MCPServerPatch,
  OpenHandsAgentSettings,
  SETTINGS_UPDATE_MEMBERS,
  SettingsField,
  SettingsResponse,
  SettingsSchema,
  SettingsUpdateRequest,
} from './agent-settings.ts'
export {
  ACPAgentProfile,
  AgentProfile,
  AgentProfileDiagnostics,
  AgentProfileInfo,
  CondenserSettings,
  OpenHandsAgentProfile,
  ProfileInfo,
  ProfileName,
  ProviderConnectionCreateRequest,
  ProviderConnectionResponse,
  ProviderConnectionUpdateRequest,
  SavedAgentProfile,
  SaveProfileRequest,
  VerificationProfile,
  VerificationSettings,
} from './profiles.ts'
export { BashCommand, BashError, BashEvent, BashOutput, ExecuteBashRequest } from './bash.ts'
export type { LeftOut } from './left-out.ts'
export { Divergence, readReplay, ReplayProgress, ReplayText } from './replay.ts'
export type { RecordedEvent, ReplayElement, ReplayFile } from './replay.ts'
export { isSilentObservation, V0Action, V0Observation } from './trajectory-v0.ts'
export {
  ConversationResponse,
  CreateMicroagent,
  GitProvider,
  InitSessionRequest,
  SuggestedTask,
} from './conversation-service.ts'
export type { InitSessionRequestInput } from './conversation-service.ts'

export { BODY_LIMIT_BYTES, LARGE_BODY_LIMIT_BYTES, takesIdempotencyKey } from './endpoints/endpoint.ts'
export type { BodyInput, Endpoint, EndpointAnswer, OkBody, QueryInput, Received } from './endpoints/endpoint.ts'
export { CreateConversationBody } from './endpoints/create-conversation.ts'
export type { CreateConversationInput } from './endpoints/create-conversation.ts'
export {
  loadPlugin,
  resumeGoal,
  startGoal,
  stopGoal,
  switchAcpModel,
  switchLlm,
  switchProfile,
  updateSecrets,
} from './endpoints/steering.ts'
export { chatCompletion, listGatewayModels } from './endpoints/gateway.ts'
export { ChatCompletion, ChatCompletionRequest, ChatMessage, GatewayModel, GatewayModels } from './chat-completion.ts'
export { GoalStatus, GoalVerdict } from './goal.ts'
export {
  LoadPluginRequest,
  StartGoalRequest,
  SwitchAcpModelRequest,
  SwitchLlmRequest,
  SwitchProfileRequest,
  UpdateSecretsRequest,
} from './requests-steering.ts'
export {
  agentFinalResponse,
  askAgent,
  condenseConversation,
  countConversations,
  countEvents,
  createConversation,
  deleteConversation,
  DeletedWorkspace,
  forkConversation,
  ForkFiles,
  getConversation,
  getConversations,
  batchGetEvents,
  prepareForPause,
  getEvent,
  interruptConversation,
  navigateConversation,
  pauseConversation,
  respondToConfirmation,
  runConversation,
  searchConversations,
  searchEvents,
  sendMessage,
  setConfirmationPolicy,
  setSecurityAnalyzer,
  streamEvents,
  Success,
  updateConversation,
} from './endpoints/agent-server.ts'
export {
  EventOutline,
  findEvents,
  getApprovals,
  getEventOutline,
  OutlineType,
  WaitingAction,
  WaitingApproval,
  WaitingApprovals,
} from './endpoints/reading.ts'
export {
  downloadConversationFile,
  type FolderEntry,
  type FoundFiles,
  listConversationFiles,
  readConversationText,
  searchConversationFiles,
  type TextPart,
} from './endpoints/conversation-files.ts'
export {
  ConversationUsage,
  getConversationUsage,
  type ModelUsage,
  type TokenCounts,
  type UsageCall,
} from './endpoints/usage.ts'
export { alive, health, readMetrics, ready, ServerInfo, serverInfo } from './endpoints/server.ts'
export { ClientToolResult, postClientToolResult } from './endpoints/client-tools.ts'
export type { ClientToolResultInput } from './endpoints/client-tools.ts'
export { AcpServer, listAcpServers } from './endpoints/acp.ts'
export { deleteDemo, startDemo, StartedDemo } from './endpoints/demo.ts'
export { loadHooks } from './endpoints/hooks.ts'
export {
  addWorkspaceParents,
  addWorkspaces,
  deleteWorkspace,
  deleteWorkspaceParent,
  listWorkspaces,
  WorkspaceItem,
  WorkspaceParentItem,
  WorkspacesListResponse,
} from './endpoints/workspaces.ts'
export {
  MCPServerSpec,
  MCPTestFailure,
  MCPTestRequest,
  MCPTestResponse,
  MCPTestSuccess,
  finishMcpLogin,
  getMcpLogin,
  startMcpLogin,
  testMcpServer,
} from './endpoints/mcp.ts'
export {
  endSubscription,
  getDesktopUrl,
  getInit,
  getSubscriptionStatus,
  getVscodeStatus,
  getVscodeUrl,
  listSubscriptionModels,
  pollSubscriptionLogin,
  postInit,
  putCredentialBinding,
  startSubscriptionLogin,
  SubscriptionStatus,
} from './endpoints/not-available.ts'
export { loadSubAgents, SubAgentInfo, SubAgentsRequest } from './endpoints/sub-agents.ts'
export {
  enablePlugin,
  getInstalledPlugin,
  InstalledPlugin,
  installPlugin,
  InstallPluginRequest,
  listInstalledPlugins,
  listPluginMarketplace,
  loadPlugins,
  PluginInfo,
  PluginSkillSummary,
  PluginsRequest,
  refreshPlugin,
  uninstallPlugin,
} from './endpoints/plugins.ts'
export {
  enableSkill,
  getInstalledSkill,
  InstalledSkill,
  installSkill,
  listInstalledSkills,
  listSkillMarketplace,
  refreshSkill,
  syncSkills,
  uninstallSkill,
} from './endpoints/installed-skills.ts'
export { loadSkills, SkillInfo, SkillsRequest, SkillsResponse } from './endpoints/skills.ts'
export { type CompletionFile, listCompletions, readCompletion } from './endpoints/completions.ts'
export { downloadTrajectory, getTrajectory } from './endpoints/trajectory.ts'
export { createSecret, storeSettings, updateSecret } from './endpoints/conversation-service.ts'
export {
  listDeliveries,
  receiveConversation,
  ReceivedEvent,
  receiveEvents,
  redeliver,
  WEBHOOK_VERSION,
  WebhookDelivery,
} from './endpoints/webhooks.ts'
export {
  conversationProgress,
  ConversationProgress,
  ConversationProgressPage,
  startAgain,
  stopConversation,
} from './endpoints/lifecycle.ts'
export {
  addMcpServer,
  agentSettingsSchema,
  conversationSettingsSchema,
  deleteSecret,
  deleteStoredSecret,
  listSecrets,
  listStoredSecrets,
  patchMcpServer,
  patchSettings,
  putStoredSecret,
  readSettings,
  readStoredSecret,
  removeMcpServer,
} from './endpoints/settings.ts'
export {
  batchGetBashEvents,
  clearBashEvents,
  executeBashCommand,
  getBashEvent,
  searchBashEvents,
  startBashCommand,
} from './endpoints/bash.ts'
export {
  archiveDirectory,
  closeWorkspaceSession,
  createDirectory,
  downloadFile,
  fileHome,
  HomeResponse,
  openWorkspaceSession,
  searchSubdirectories,
  uploadFile,
  workspaceFile,
  workspaceIndex,
} from './endpoints/files.ts'
export {
  GitChange,
  gitChanges,
  GitCommit,
  gitCommitChanges,
  gitCommits,
  GitCommitsPage,
  gitDiff,
  GitPatch,
  gitPatch,
  GitDiff,
} from './endpoints/git.ts'
export {
  createProviderConnection,
  deleteProviderConnection,
  listModels,
  listProviderConnections,
  listProviders,
  listTools,
  listVerifiedModels,
  updateProviderConnection,
} from './endpoints/models.ts'
export {
  activateAgentProfile,
  activateProfile,
  deleteAgentProfile,
  deleteProfile,
  getAgentProfile,
  getProfile,
  listAgentProfiles,
  listProfiles,
  materializeAgentProfile,
  renameAgentProfile,
  renameProfile,
  saveAgentProfile,
  saveProfile,
  validateProfile,
} from './endpoints/profiles.ts'
export {
  AuditItem,
  createKey,
  CreateKeyRequest,
  IssuedKey,
  KeyInfo,
  listKeys,
  readAudit,
  revokeKey,
  Role,
  rotateKey,
} from './endpoints/keys.ts'
export {
  createLoginCode,
  endCurrentLoginSession,
  endLoginSession,
  listLoginSessions,
  LoginCode,
  LoginSession,
  Me,
  OpenedLoginSession,
  openLoginSession,
  OpenLoginSessionRequest,
  readMe,
} from './endpoints/logins.ts'
export { Fleet, FleetNode, readFleet } from './endpoints/fleet.ts'
export { listQuotas, Quota, readQuotas, UserQuotas } from './endpoints/quotas.ts'
export { deleteUser, disableUser, enableUser, listUsers, UserInfo, UserState } from './endpoints/users.ts'
export { textOf } from './text-of.ts'
export { plainMessage, userMessage } from './user-message.ts'
