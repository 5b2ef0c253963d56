export { planningEditorTool, PlanningEditorParams } from './planning-editor.ts'
