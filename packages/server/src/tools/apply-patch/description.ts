/** Description of the tool for the model. */

export const DESCRIPTION = `Changes several files in one step: all of the patch is applied, or nothing of it. The form:

*** Begin Patch
*** Add File: docs/new.md
+first line
+second line
*** Update File: src/app.py
*** Move to: src/main.py
@@ class App:
 def run(self):
-    pass
+    self.start()
*** Delete File: old.txt
*** End Patch

- Paths are relative to the working directory, or absolute inside of it. Each file is named once.
- Add File: each line begins with "+". A file that exists is not overwritten.
- Update File: parts of the file in their order. Lines that stay begin with a space, removed ones with "-", new ones with "+". Give about three lines around a change. Where they are not unique, put a line that stands before them, such as that of the class or function, after "@@". A part at the very end of the file may close with "*** End of File".
- Move to is optional and follows Update File.`

/** For models that get the form as a grammar. */
export const FREEFORM_DESCRIPTION = `Changes several files in one step: all of the patch is applied, or nothing of it. The call is the patch itself, without JSON around it.

- Paths are relative to the working directory, or absolute inside of it. Each file is named once.
- A file that exists is not added again.
- An update has parts of the file in their order, with about three lines around a change. Where they are not unique, put a line that stands before them, such as that of the class or function, after "@@".`

export const PARAMETERS: Record<string, unknown> = {
  type: 'object',
  properties: {
    patch: { type: 'string', description: 'The patch, from "*** Begin Patch" to "*** End Patch".' },
  },
  required: ['patch'],
}
