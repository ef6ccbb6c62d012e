import {init, use} from "echarts/core";
import {CustomChart} from "echarts/charts";
import {DataZoomInsideComponent, GridComponent, ToolboxComponent} from "echarts/components";
import {CanvasRenderer} from "echarts/renderers";

use([CanvasRenderer, CustomChart, DataZoomInsideComponent, GridComponent, ToolboxComponent]);

export {init};
