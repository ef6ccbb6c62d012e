package schema

import "github.com/tpconvert/tpconvert/model/table"

// WinscopeRect holds the rectangles of all Winscope tables, each once.
type WinscopeRect struct {
	table.Table `tp:"winscope_rect" doc:"A rectangle."`
	X           table.Float64 `tp:"2,x" doc:"Left edge, pixels."`
	Y           table.Float64 `tp:"3,y" doc:"Upper edge, pixels."`
	W           table.Float64 `tp:"4,w" doc:"Width, pixels."`
	H           table.Float64 `tp:"5,h" doc:"Height, pixels."`
}

// WinscopeTransform holds the transforms of WinscopeTraceRect, each once.
type WinscopeTransform struct {
	table.Table `tp:"winscope_transform" doc:"An affine transform of the plane."`
	DSDX        table.Float64 `tp:"2,dsdx" doc:"Change of the horizontal position with x."`
	DTDX        table.Float64 `tp:"3,dtdx" doc:"Change of the horizontal position with y."`
	Tx          table.Float64 `tp:"4,tx" doc:"Horizontal shift, pixels."`
	DTDY        table.Float64 `tp:"5,dtdy" doc:"Change of the vertical position with x."`
	DSDY        table.Float64 `tp:"6,dsdy" doc:"Change of the vertical position with y."`
	Ty          table.Float64 `tp:"7,ty" doc:"Vertical shift, pixels."`
}

// WinscopeTraceRect holds the areas covered by layers, views and windows.
type WinscopeTraceRect struct {
	table.Table `tp:"winscope_trace_rect" doc:"A rectangle to draw for an element of a snapshot."`
	RectID      table.Ref[WinscopeRect]      `tp:"2,rect_id" doc:"Position and size before the transform."`
	GroupID     table.Int64                  `tp:"3,group_id" doc:"Layer stack or display, which is drawn separately from others."`
	Depth       table.Int32                  `tp:"4,depth" doc:"Position from back to front."`
	IsSpy       table.Bool                   `tp:"5,is_spy" doc:"Whether it is an input window that only listens."`
	IsVisible   table.Bool                   `tp:"6,is_visible" doc:"Whether it is visible."`
	Opacity     table.Float64                `tp:"7,opacity,null" doc:"Opacity, 0 to 1."`
	TransformID table.Ref[WinscopeTransform] `tp:"8,transform_id" doc:"Transform of the rectangle."`
	BorderWidth table.Float64                `tp:"9,border_width,null" doc:"Width of the border, pixels."`
	BorderColor table.Int64                  `tp:"10,border_color,null" doc:"Colour of the border, packed in 32 bits."`
}

// WinscopeFillRegion holds the touchable regions of input windows.
type WinscopeFillRegion struct {
	table.Table `tp:"winscope_fill_region" doc:"A part of the region that an element fills."`
	TraceRectID table.Ref[WinscopeTraceRect] `tp:"2,trace_rect_id" doc:"Element."`
	RectID      table.Ref[WinscopeRect]      `tp:"3,rect_id" doc:"The part."`
}

// SurfaceflingerLayersSnapshot is filled from SurfaceFlinger's layer tracing.
type SurfaceflingerLayersSnapshot struct {
	table.Table         `tp:"surfaceflinger_layers_snapshot" doc:"All layers of Android's compositor at a moment."`
	TS                  table.Time         `tp:"2,ts,asc" doc:"Time of the snapshot, ns of the trace clock."`
	ArgSetID            table.SetRef[Args] `tp:"3,arg_set_id,null" doc:"The snapshot without its layers: the rows of args with this arg_set_id."`
	Base64ProtoID       table.Int64        `tp:"4,base64_proto_id,null" doc:"Number of the snapshot's message, equal for equal messages."`
	SequenceID          table.Int64        `tp:"5,sequence_id" doc:"Writer of the packet."`
	HasInvalidElapsedTS table.Bool         `tp:"6,has_invalid_elapsed_ts,null" doc:"Whether it was recorded without a usable time."`
}

// SurfaceflingerDisplay belongs to SurfaceflingerLayersSnapshot.
type SurfaceflingerDisplay struct {
	table.Table `tp:"surfaceflinger_display" doc:"A display in a snapshot of the layers."`
	SnapshotID  table.Ref[SurfaceflingerLayersSnapshot] `tp:"2,snapshot_id" doc:"Snapshot."`
	IsOn        table.Bool                              `tp:"3,is_on" doc:"Whether it is on."`
	IsVirtual   table.Bool                              `tp:"4,is_virtual" doc:"Whether it is virtual."`
	TraceRectID table.Ref[WinscopeTraceRect]            `tp:"5,trace_rect_id" doc:"Area that it covers."`
	DisplayID   table.Int64                             `tp:"6,display_id" doc:"Display id."`
	DisplayName table.String                            `tp:"7,display_name" doc:"Name."`
}

// SurfaceflingerLayer belongs to SurfaceflingerLayersSnapshot.
type SurfaceflingerLayer struct {
	table.Table        `tp:"surfaceflinger_layer" doc:"A layer in a snapshot of the layers."`
	SnapshotID         table.Ref[SurfaceflingerLayersSnapshot] `tp:"2,snapshot_id" doc:"Snapshot."`
	ArgSetID           table.SetRef[Args]                      `tp:"3,arg_set_id,null" doc:"The layer in full: the rows of args with this arg_set_id."`
	Base64ProtoID      table.Int64                             `tp:"4,base64_proto_id,null" doc:"Number of the layer's message, equal for equal messages."`
	LayerID            table.Int64                             `tp:"5,layer_id,null" doc:"Layer id."`
	LayerName          table.String                            `tp:"6,layer_name" doc:"Name."`
	IsVisible          table.Bool                              `tp:"7,is_visible" doc:"Whether it is visible, given its own state and its parents' states."`
	Parent             table.Int64                             `tp:"8,parent,null" doc:"Layer id of the parent."`
	CornerRadiusTL     table.Float64                           `tp:"9,corner_radius_tl,null" doc:"Radius of the upper left corner, pixels."`
	CornerRadiusTR     table.Float64                           `tp:"10,corner_radius_tr,null" doc:"Radius of the upper right corner, pixels."`
	CornerRadiusBL     table.Float64                           `tp:"11,corner_radius_bl,null" doc:"Radius of the lower left corner, pixels."`
	CornerRadiusBR     table.Float64                           `tp:"12,corner_radius_br,null" doc:"Radius of the lower right corner, pixels."`
	HWCCompositionType table.Int64                             `tp:"13,hwc_composition_type,null" doc:"How it is composed, as a value of HwcCompositionType."`
	IsHiddenByPolicy   table.Bool                              `tp:"14,is_hidden_by_policy" doc:"Whether it, or a parent, is flagged as hidden."`
	ZOrderRelativeOf   table.Int64                             `tp:"15,z_order_relative_of,null" doc:"Layer id of the layer relative to which it is stacked."`
	IsMissingZParent   table.Bool                              `tp:"16,is_missing_z_parent" doc:"Whether the layer relative to which it is stacked is missing from the snapshot."`
	LayerRectID        table.Ref[WinscopeTraceRect]            `tp:"17,layer_rect_id,null" doc:"Area that it covers."`
	InputRectID        table.Ref[WinscopeTraceRect]            `tp:"18,input_rect_id,null" doc:"Area in which it accepts input."`
}

// SurfaceflingerTransactions is filled from SurfaceFlinger's transaction tracing.
type SurfaceflingerTransactions struct {
	table.Table   `tp:"surfaceflinger_transactions" doc:"The transactions that Android's compositor committed together."`
	TS            table.Time         `tp:"2,ts,asc" doc:"Time of the commit, ns of the trace clock."`
	ArgSetID      table.SetRef[Args] `tp:"3,arg_set_id,null" doc:"The commit without its transactions: the rows of args with this arg_set_id."`
	Base64ProtoID table.Int64        `tp:"4,base64_proto_id,null" doc:"Number of the commit's message, equal for equal messages."`
	VsyncID       table.Int64        `tp:"5,vsync_id,null" doc:"Vsync id of the commit."`
}

// SurfaceflingerTransaction belongs to SurfaceflingerTransactions.
type SurfaceflingerTransaction struct {
	table.Table     `tp:"surfaceflinger_transaction" doc:"A change of a layer or a display within a commit."`
	SnapshotID      table.Ref[SurfaceflingerTransactions] `tp:"2,snapshot_id" doc:"Commit."`
	ArgSetID        table.SetRef[Args]                    `tp:"3,arg_set_id,null" doc:"The change in full: the rows of args with this arg_set_id."`
	Base64ProtoID   table.Int64                           `tp:"4,base64_proto_id,null" doc:"Number of the change's message, equal for equal messages."`
	TransactionID   table.Int64                           `tp:"5,transaction_id,null" doc:"Transaction id."`
	PID             table.Int64                           `tp:"6,pid,null" doc:"Process id that it came from."`
	UID             table.Int64                           `tp:"7,uid,null" doc:"User id that it came from."`
	LayerID         table.Int64                           `tp:"8,layer_id,null" doc:"Layer that is changed."`
	DisplayID       table.Int64                           `tp:"9,display_id,null" doc:"Display that is changed."`
	FlagsID         table.Int64                           `tp:"10,flags_id,null" doc:"What is changed: the rows of surfaceflinger_transaction_flag with this flags_id."`
	TransactionType table.String                          `tp:"11,transaction_type" doc:"Kind of change, such as LAYER_CHANGED."`
}

// SurfaceflingerTransactionFlag belongs to SurfaceflingerTransaction.
type SurfaceflingerTransactionFlag struct {
	table.Table `tp:"surfaceflinger_transaction_flag" doc:"An attribute that a change of a layer or a display sets."`
	FlagsID     table.Int64  `tp:"2,flags_id,null" doc:"Set that it belongs to: rows with the same number belong together."`
	Flag        table.String `tp:"3,flag" doc:"Name of the attribute."`
}

// Windowmanager is filled from WindowManager's tracing.
type Windowmanager struct {
	table.Table         `tp:"windowmanager" doc:"The state of Android's window manager at a moment."`
	TS                  table.Time         `tp:"2,ts,asc" doc:"Time of the snapshot, ns of the trace clock."`
	ArgSetID            table.SetRef[Args] `tp:"3,arg_set_id,null" doc:"The state without its containers: the rows of args with this arg_set_id."`
	Base64ProtoID       table.Int64        `tp:"4,base64_proto_id,null" doc:"Number of the state's message, equal for equal messages."`
	FocusedDisplayID    table.Int64        `tp:"5,focused_display_id" doc:"Display with the focus."`
	HasInvalidElapsedTS table.Bool         `tp:"6,has_invalid_elapsed_ts" doc:"Whether it was recorded without a usable time."`
}

// WindowmanagerWindowcontainer belongs to Windowmanager.
type WindowmanagerWindowcontainer struct {
	table.Table   `tp:"windowmanager_windowcontainer" doc:"A node in the tree of displays, tasks and windows."`
	SnapshotID    table.Ref[Windowmanager]     `tp:"2,snapshot_id" doc:"Snapshot."`
	ArgSetID      table.SetRef[Args]           `tp:"3,arg_set_id,null" doc:"The node in full: the rows of args with this arg_set_id."`
	Base64ProtoID table.Int64                  `tp:"4,base64_proto_id,null" doc:"Number of the node's message, equal for equal messages."`
	Title         table.String                 `tp:"5,title" doc:"Title."`
	Token         table.Int64                  `tp:"6,token" doc:"Hash code that identifies the node in the snapshot."`
	ParentToken   table.Int64                  `tp:"7,parent_token,null" doc:"token of the parent."`
	ChildIndex    table.Int64                  `tp:"8,child_index,null" doc:"Position among the children of the parent, from 0."`
	IsVisible     table.Bool                   `tp:"9,is_visible,null" doc:"Whether it is visible."`
	WindowRectID  table.Ref[WinscopeTraceRect] `tp:"10,window_rect_id,null" doc:"Area that it covers."`
	ContainerType table.String                 `tp:"11,container_type" doc:"Kind of node, such as DisplayContent or TaskFragment."`
	NameOverride  table.String                 `tp:"12,name_override" doc:"Name to show in place of the title."`
}

// WindowManagerShellTransitions holds transitions. Rows are held because several packets describe one
// transition.
type WindowManagerShellTransitions struct {
	table.Table         `tp:"window_manager_shell_transitions,held" doc:"An animated change of Android's windows."`
	TS                  table.Time         `tp:"2,ts" doc:"When it began to play: when it was dispatched or else sent, ns of the trace clock."`
	TransitionID        table.Int64        `tp:"3,transition_id" doc:"Transition id."`
	ArgSetID            table.SetRef[Args] `tp:"4,arg_set_id,null" doc:"The transition in full: the rows of args with this arg_set_id."`
	TransitionType      table.Int64        `tp:"5,transition_type,null" doc:"Kind of transition, as Android's number."`
	SendTimeNS          table.Int64        `tp:"6,send_time_ns,null" doc:"When it was sent to the shell, ns of CLOCK_BOOTTIME."`
	DispatchTimeNS      table.Int64        `tp:"7,dispatch_time_ns,null" doc:"When the shell gave it to a handler, ns of CLOCK_BOOTTIME."`
	DurationNS          table.Dur          `tp:"8,duration_ns,null" doc:"From dispatch to finish, ns."`
	FinishTimeNS        table.Int64        `tp:"9,finish_time_ns,null" doc:"When it was finished, ns of CLOCK_BOOTTIME."`
	ShellAbortTimeNS    table.Int64        `tp:"10,shell_abort_time_ns,null" doc:"When the shell aborted it, ns of CLOCK_BOOTTIME."`
	WMAbortTimeNS       table.Int64        `tp:"11,wm_abort_time_ns,null" doc:"When the window manager aborted it, ns of CLOCK_BOOTTIME."`
	MergeTimeNS         table.Int64        `tp:"12,merge_time_ns,null" doc:"When it was merged into another, ns of CLOCK_BOOTTIME."`
	CreateTimeNS        table.Int64        `tp:"13,create_time_ns,null" doc:"When it was created, ns of CLOCK_BOOTTIME."`
	Handler             table.Int64        `tp:"14,handler,null" doc:"Handler: handler_id of window_manager_shell_transition_handlers."`
	Status              table.String       `tp:"15,status" doc:"How it ended: played, merged or aborted, NULL if it had not."`
	Flags               table.Int64        `tp:"16,flags,null" doc:"Flags as bits."`
	StartTransactionID  table.Int64        `tp:"17,start_transaction_id,null" doc:"Transaction of SurfaceFlinger that began it."`
	FinishTransactionID table.Int64        `tp:"18,finish_transaction_id,null" doc:"Transaction of SurfaceFlinger that finished it."`
}

// WindowManagerShellTransitionHandlers belongs to WindowManagerShellTransitions.
type WindowManagerShellTransitionHandlers struct {
	table.Table   `tp:"window_manager_shell_transition_handlers" doc:"A handler that plays transitions."`
	HandlerID     table.Int64  `tp:"2,handler_id" doc:"Handler id."`
	HandlerName   table.String `tp:"3,handler_name" doc:"Name of its class."`
	Base64ProtoID table.Int64  `tp:"4,base64_proto_id,null" doc:"Number of the handler's message, equal for equal messages."`
}

// WindowManagerShellTransitionParticipants belongs to WindowManagerShellTransitions.
type WindowManagerShellTransitionParticipants struct {
	table.Table          `tp:"window_manager_shell_transition_participants" doc:"A window that a transition changes."`
	TransitionID         table.Int64             `tp:"2,transition_id" doc:"Transition: transition_id of window_manager_shell_transitions."`
	LayerID              table.Int64             `tp:"3,layer_id,null" doc:"Layer of the window."`
	WindowID             table.Int64             `tp:"4,window_id,null" doc:"Window id."`
	Mode                 table.Int64             `tp:"5,mode,null" doc:"What happens to the window, as Android's number, such as 1 open and 2 close."`
	Flags                table.Int64             `tp:"6,flags,null" doc:"Flags of the change as bits."`
	StartDisplayID       table.Int64             `tp:"7,start_display_id,null" doc:"Display before the transition."`
	EndDisplayID         table.Int64             `tp:"8,end_display_id,null" doc:"Display after the transition."`
	StartRotation        table.Int64             `tp:"9,start_rotation,null" doc:"Rotation before, in quarter turns."`
	EndRotation          table.Int64             `tp:"10,end_rotation,null" doc:"Rotation after, in quarter turns."`
	StartAbsBoundsRectID table.Ref[WinscopeRect] `tp:"11,start_abs_bounds_rect_id,null" doc:"Place on the screen before the transition."`
	EndAbsBoundsRectID   table.Ref[WinscopeRect] `tp:"12,end_abs_bounds_rect_id,null" doc:"Place on the screen after the transition."`
}

// WindowManagerShellTransitionProtos belongs to WindowManagerShellTransitions.
type WindowManagerShellTransitionProtos struct {
	table.Table   `tp:"window_manager_shell_transition_protos" doc:"A message that reports a transition."`
	TransitionID  table.Int64 `tp:"2,transition_id" doc:"Transition: transition_id of window_manager_shell_transitions."`
	Base64ProtoID table.Int64 `tp:"3,base64_proto_id,null" doc:"Number of the message, equal for equal messages."`
}

// Viewcapture is filled from Android's view capture.
type Viewcapture struct {
	table.Table   `tp:"viewcapture" doc:"All views of a window at a moment."`
	TS            table.Time         `tp:"2,ts,asc" doc:"Time of the snapshot, ns of the trace clock."`
	ArgSetID      table.SetRef[Args] `tp:"3,arg_set_id,null" doc:"The snapshot without its views: the rows of args with this arg_set_id."`
	Base64ProtoID table.Int64        `tp:"4,base64_proto_id,null" doc:"Number of the snapshot's message, equal for equal messages."`
	PackageName   table.String       `tp:"5,package_name" doc:"Package of the window."`
	WindowName    table.String       `tp:"6,window_name" doc:"Window."`
}

// ViewcaptureView belongs to Viewcapture.
type ViewcaptureView struct {
	table.Table   `tp:"viewcapture_view" doc:"A view in a snapshot of a window."`
	SnapshotID    table.Ref[Viewcapture]       `tp:"2,snapshot_id" doc:"Snapshot."`
	ArgSetID      table.SetRef[Args]           `tp:"3,arg_set_id,null" doc:"The view in full: the rows of args with this arg_set_id."`
	Base64ProtoID table.Int64                  `tp:"4,base64_proto_id,null" doc:"Number of the view's message, equal for equal messages."`
	NodeID        table.Int64                  `tp:"5,node_id" doc:"Number of the view in the snapshot."`
	Hashcode      table.Int64                  `tp:"6,hashcode" doc:"Hash code of the view."`
	IsVisible     table.Bool                   `tp:"7,is_visible" doc:"Whether it is visible."`
	ParentID      table.Int64                  `tp:"8,parent_id" doc:"node_id of the parent."`
	ViewID        table.String                 `tp:"9,view_id" doc:"Resource id."`
	ClassName     table.String                 `tp:"10,class_name" doc:"Class."`
	TraceRectID   table.Ref[WinscopeTraceRect] `tp:"11,trace_rect_id" doc:"Area that it covers."`
}

// ViewcaptureInternedData belongs to Viewcapture and ViewcaptureView.
type ViewcaptureInternedData struct {
	table.Table     `tp:"viewcapture_interned_data" doc:"A text that a message of the view capture refers to by number."`
	Base64ProtoID   table.Int64  `tp:"2,base64_proto_id" doc:"Message, as in viewcapture and viewcapture_view."`
	FlatKey         table.String `tp:"3,flat_key" doc:"Field that refers to it."`
	IID             table.Int64  `tp:"4,iid" doc:"Number in the field."`
	DeinternedValue table.String `tp:"5,deinterned_value" doc:"Text that it stands for."`
}

// InputmethodClients is filled from Winscope's input method tracing.
type InputmethodClients struct {
	table.Table   `tp:"inputmethod_clients" doc:"The app-side state of the input method."`
	TS            table.Time         `tp:"2,ts,asc" doc:"Time of the dump, ns of the trace clock."`
	ArgSetID      table.SetRef[Args] `tp:"3,arg_set_id,null" doc:"The state: the rows of args with this arg_set_id."`
	Base64ProtoID table.Int64        `tp:"4,base64_proto_id,null" doc:"Number of the state's message, equal for equal messages."`
}

// InputmethodManagerService is filled from Winscope's input method tracing.
type InputmethodManagerService struct {
	table.Table   `tp:"inputmethod_manager_service" doc:"The state of the system's input method manager."`
	TS            table.Time         `tp:"2,ts,asc" doc:"Time of the dump, ns of the trace clock."`
	ArgSetID      table.SetRef[Args] `tp:"3,arg_set_id,null" doc:"The state: the rows of args with this arg_set_id."`
	Base64ProtoID table.Int64        `tp:"4,base64_proto_id,null" doc:"Number of the state's message, equal for equal messages."`
}

// InputmethodService is filled from Winscope's input method tracing.
type InputmethodService struct {
	table.Table   `tp:"inputmethod_service" doc:"The keyboard-side state of the input method."`
	TS            table.Time         `tp:"2,ts,asc" doc:"Time of the dump, ns of the trace clock."`
	ArgSetID      table.SetRef[Args] `tp:"3,arg_set_id,null" doc:"The state: the rows of args with this arg_set_id."`
	Base64ProtoID table.Int64        `tp:"4,base64_proto_id,null" doc:"Number of the state's message, equal for equal messages."`
}

// Protolog is filled from Android's ProtoLog.
type Protolog struct {
	table.Table `tp:"protolog" doc:"A line of ProtoLog, formatted."`
	TS          table.Time   `tp:"2,ts,asc" doc:"Time of the line, ns of the trace clock."`
	Level       table.String `tp:"3,level" doc:"Level, from DEBUG to WTF."`
	Tag         table.String `tp:"4,tag" doc:"Group that it belongs to."`
	Message     table.String `tp:"5,message" doc:"Text."`
	Stacktrace  table.String `tp:"6,stacktrace" doc:"Call stack that logged it."`
	Location    table.String `tp:"7,location" doc:"Source file and line, if the viewer configuration has them."`
}
